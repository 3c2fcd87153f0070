"""The one Spark session of a report, and the one job that it runs."""
