"""Metrics that a module each declares and measures."""
