"""A session on a Spark Connect server (`sc://HOST:PORT`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.spark.errors import SparkFailed
from analysis.spark.ship import bundle, send

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLIENT = "pyspark[connect]"
_SETTINGS = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "2"}


@contextmanager
def connected(address: str, folder: Path) -> Iterator[SparkSession]:
    """A session on the server at `address`, with our code sent to it; `folder` keeps that code meanwhile.

    Raises SparkFailed when the client's packages are missing, when no server answers, or when a job fails.
    """
    from pyspark.errors import PySparkException, PySparkImportError  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    try:
        spark = SparkSession.builder.remote(address).create()
    except PySparkImportError as error:
        raise SparkFailed(f"{address}: {error}; `pip install '{_CLIENT}'` brings what Spark Connect needs") from error
    except (PySparkException, OSError, RuntimeError) as error:
        raise SparkFailed(f"{address}: no Spark Connect server answers there: {error}") from error
    try:
        for name, value in _SETTINGS.items():
            spark.conf.set(name, value)
        send(spark, bundle(folder))
        yield spark
    except PySparkException as error:
        raise SparkFailed(f"{address}: {error}") from error
    finally:
        spark.stop()
