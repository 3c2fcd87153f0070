"""Campaigns: which trials run next, under which conditions, until when."""
