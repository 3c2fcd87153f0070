"""Parent of Spark's Python workers: imports what every task needs once, before they are forked off.

What cannot be imported is left to analysis.spark.check, which says of which worker it is, and to the tasks.
"""

from __future__ import annotations

from contextlib import suppress

from pyspark import daemon

with suppress(Exception):
    import numpy  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import analysis.spark.captures
    import analysis.trial  # noqa: F401

if __name__ == "__main__":
    daemon.manager()
