"""What can go wrong with Spark itself."""

from __future__ import annotations


class SparkFailed(Exception):
    """Spark could not start or its job failed; the message holds the end of its log."""
