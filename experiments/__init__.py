"""Scenarios, the runner, the load generator, and what decides whether a trial may be believed."""
