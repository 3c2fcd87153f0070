"""What a profile means for one trial, before a kernel is touched.  Pure."""
