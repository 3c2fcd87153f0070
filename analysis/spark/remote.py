"""A session on a Spark Connect server (`sc://HOST:PORT`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.spark import environment
from analysis.spark.check import check
from analysis.spark.errors import SparkFailed, must_answer, telling, without_options
from analysis.spark.ship import bundle, send
from analysis.spark.target import Env, Target
from records.errors import WrongInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLIENT = "pyspark[connect]"
_PORT = 15002
_SETTINGS = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "2"}


@contextmanager
def connected(address: str, folder: Path, target: Target, say: Callable[[str], None]) -> Iterator[SparkSession]:
    """A session on the server at `address`, with our code sent to it; `folder` keeps that code meanwhile.

    Raises WrongInput for an event log, which is the server's; SparkFailed when the client's packages are missing, no
    server answers, a setting cannot be changed in a session, workers lack something, or a job fails.
    """
    from pyspark.errors import PySparkException, PySparkImportError  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    shown = without_options(address)
    if target.event_log:
        raise WrongInput(f"--event-log: {shown} is a Spark Connect server, whose own settings say where its log is")
    must_answer(address, what="Spark Connect server", port=_PORT)
    try:
        spark = SparkSession.builder.remote(address).create()
    except PySparkImportError as error:
        raise SparkFailed(f"{shown}: {error}; `pip install '{_CLIENT}'` brings what Spark Connect needs") from error
    except (PySparkException, OSError, RuntimeError) as error:
        raise SparkFailed(f"{shown}: no session with this Spark Connect server: {telling(str(error))}") from error
    try:
        for name, value in (_SETTINGS | dict(target.conf)).items():
            spark.conf.set(name, value)
        if target.env is Env.SHIP:
            spark.addArtifacts(f"{environment.made(folder)}#{environment.NAME}", archive=True)
            spark.conf.set("spark.sql.execution.pyspark.python", f"{environment.NAME}/bin/python")
        send(spark, bundle(folder))
        check(spark, env=target.env, say=say)
        yield spark
    except PySparkException as error:
        raise SparkFailed(f"{shown}: {telling(str(error))}") from error
    finally:
        spark.stop()
