"""What all tests share: repeatable property tests, and which tests may run at the same time.

Property tests try the same inputs in every run; `pytest --hypothesis-profile=random` tries others, and more.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)  # a slow machine is no failure
settings.register_profile("random", max_examples=1000, deadline=None)
settings.load_profile("repeatable")

# What tests need of the machine.
NEEDS = {
    "spark": "a Spark session or cluster",
    "broker": "ActiveMQ",
    "labkernel": "the lab kernel",
    "browser": "Chromium",
    "root": "root: namespaces, links, captures",
}
# Groups of more than one module, those first that take longest.  A group runs in one process, one test after another:
# it shares a server, or is a load on the machine.  There are two of whole trials, which mostly wait.
GROUPS = ("labkernel", "trials 1", "trials 2", "spark", "broker")
MARKS = {
    **{name: f"needs {about}" for name, about in NEEDS.items()},
    "group(name)": f"runs in this group ({', '.join(GROUPS)}); without it in that of what it needs, or its module",
    "alone": "measures what a link or the scheduler does, or changes what all processes see: nothing runs beside it",
}
TIMES = "AIRWIRE_TEST_TIMES"  # names a file that gets a line for each part of a test: its name, its seconds


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks."""
    for name, about in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {about}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tell xdist the groups, and put tests of a group next to each other."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    groups = {item: _group(item) for item in items}
    items.sort(key=lambda item: GROUPS.index(groups[item]) if groups[item] in GROUPS else len(GROUPS))
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))


def _group(item: pytest.Item) -> str:
    if asked := item.get_closest_marker("group"):
        (name,) = asked.args
        if name not in GROUPS:
            raise pytest.UsageError(f"{item.nodeid}: group {name!r} is not one of {', '.join(GROUPS)}")
        return str(name)
    return next((name for name in GROUPS if item.get_closest_marker(name)), item.nodeid.partition("::")[0])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep how long each part of a test took, where somebody asks; workers of xdist leave that to their owner."""
    path = os.environ.get(TIMES)
    if path and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(path).open("a") as times:
            times.write(json.dumps([report.nodeid.partition("@")[0], report.duration]) + "\n")
