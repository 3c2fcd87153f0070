"""What is said of Spark on the command line is what Spark is started with, whichever verb it is said to."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from common.capture import write_capture
from synthetic_campaign import Spec, write_campaign
from typer.testing import CliRunner

from analysis.spark import session
from analysis.spark.errors import SparkFailed
from analysis.spark.target import Env, Target
from lab.main import VERBS, app

SPEC = Spec(bodies=(100,), guarantees=("plain",), networks=("nistnet-80211",), trials=1, packets=4)
WORDS = ("--master", "spark://there:7077", "--env", "ship", "--conf", "spark.executor.memory=4g", "--event-log", "log")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str | Path]]:
    """What each verb is told to do."""
    folder = tmp_path_factory.mktemp("said")
    first, second = (write_campaign(folder, replace(SPEC, name=name)) for name in ("first", "second"))
    capture = write_capture(folder / "one.pcap", packets=20, connections=2)
    return {
        "report": [first],
        "compare": [first, second],
        "sql": ["SELECT cell FROM trials", first],
        "analyse": [capture, "--out", folder / "flows"],
        "export": [capture, "--out", folder / "out"],
    }


def test_every_verb_with_a_master_is_tried(said: dict[str, list[str | Path]]) -> None:
    assert said.keys() == {name for name, verb in VERBS.items() if "master" in inspect.signature(verb).parameters}


@pytest.mark.parametrize("verb", ["report", "compare", "sql", "analyse", "export"])
def test_options_are_what_spark_is_started_with(
    said: dict[str, list[str | Path]], monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    asked: list[Target] = []

    def started(target: Target, *_: object) -> NoReturn:
        asked.append(target)
        raise SparkFailed("as far as this")

    monkeypatch.setattr(session, "_on_master", started)
    done = CliRunner().invoke(app, [verb, *map(str, said[verb]), *WORDS])
    assert asked == [
        Target(
            master="spark://there:7077",
            conf=(("spark.executor.memory", "4g"),),
            env=Env.SHIP,
            event_log="log",
        )
    ]
    assert done.exit_code != 0
    assert "as far as this" in done.stderr
