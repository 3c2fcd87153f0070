"""Trials that are too large for one task: shared out among several, and put together again."""
