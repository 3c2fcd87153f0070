"""Health checks: whether a trial may be believed.  Pure."""
