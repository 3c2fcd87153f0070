"""What all tests share: repeatable property tests, and which tests may run at the same time.

Property tests try the same inputs in every run; `pytest --hypothesis-profile=random` tries others, and more.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import groups
import pytest
from hypothesis import settings
from object_store import ENVIRONMENT, ObjectStore, object_store

from experiments.trial.checks.sharedmachine import VARIABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile("repeatable", derandomize=True, deadline=None)  # a slow machine is no failure
settings.register_profile("random", max_examples=1000, deadline=None)
settings.load_profile("repeatable")


@cache
def _text(module: Path) -> str:
    return module.read_text()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks; let signals have their effect, which nohup and a shell's background take away.

    To a trial other tests are foreign load, so the machine is a shared one.
    """
    for number, usual in {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
    os.environ.setdefault(VARIABLE, "1")
    os.environ.update(ENVIRONMENT)
    for name, about in groups.MARKS.items():
        config.addinivalue_line("markers", f"{name}: {about}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests of a group next to each other; who uses the Spark session needs Spark, and its group."""
    items.sort(key=lambda item: groups.place(item.nodeid))
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid}: a name with an address differs from process to process: give ids")
        for mark in item.iter_markers():
            if mark.name in groups.MARKS and f"mark.{mark.name}" not in _text(item.path):
                raise pytest.UsageError(
                    f"{item.path}: a mark that is not named in it ({mark.name}) is not seen by run.py"
                )
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
            if groups.group(item.nodeid) != groups.SPARK:
                module = item.nodeid.partition("::")[0]
                raise pytest.UsageError(f"{module} uses the Spark session: tests/groups.py has to name it in its group")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark session for all tests that need one."""
    from analysis.spark.session import session  # noqa: PLC0415 - imports slowly

    with session(master="local[2]") as running:
        yield running


@pytest.fixture
def store() -> Iterator[ObjectStore]:
    """An object store on loopback with a bucket `lab`."""
    with object_store() as running:
        yield running


@pytest.fixture
def shared_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of `lab` that run in this process take that session instead of starting one of their own."""
    monkeypatch.setattr("analysis.spark.session.session", lambda **_: nullcontext(spark))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Side by side, a group runs in one process."""
    return groups.scheduler(config, log)


_USED = "processor_s"
_before = pytest.StashKey[float]()


def _used_s() -> float:
    """Of processors, by this process and by those that it has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Keep what had been used when a test began."""
    item.stash[_before] = _used_s()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what a part of a test has used into its report."""
    report = yield
    now = _used_s()
    report.user_properties.append((_USED, now - item.stash[_before]))
    item.stash[_before] = now
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep how each part of a test went, where somebody asks; workers of xdist leave that to their owner."""
    path = os.environ.get(groups.RESULTS)
    if path and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(path).open("a") as results:
            used = dict(report.user_properties).get(_USED, 0.0)
            results.write(json.dumps([report.nodeid, report.duration, report.outcome, used]) + "\n")
