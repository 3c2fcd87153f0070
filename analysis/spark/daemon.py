"""Parent of Spark's Python workers: imports what every task needs once, before they are forked off."""

from __future__ import annotations

import numpy  # noqa: F401
import pyarrow.parquet  # noqa: F401
from pyspark import daemon

import analysis.spark.captures
import analysis.trial  # noqa: F401

if __name__ == "__main__":
    daemon.manager()
