"""Campaigns as views for SQL: one table says what they are, a Spark data source gives their rows, a guard reads only."""
