"""A stack inside the load generator's own process."""
