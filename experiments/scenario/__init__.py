"""Scenario files: read, checked, and spread into cells."""
