"""Campaigns as views for SQL: what the views are, a Spark data source of their rows, and queries that only read."""
