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

# What tests need of the machine.  What is shared among all tests that need it is made once: these run in one process.
NEEDS = {
    "spark": "a Spark session or cluster",
    "broker": "ActiveMQ",
    "labkernel": "the lab kernel",
    "browser": "Chromium",
    "root": "root: namespaces, links, captures",
}
SHARED = ("spark", "broker", "labkernel")
ALONE = "measures or loads this machine, or looks for what is left on it: nothing may run beside it"
TIMES = "AIRWIRE_TEST_TIMES"  # names a file that gets a line for each part of a test: its name, its seconds


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks."""
    for name, about in {**{name: f"needs {about}" for name, about in NEEDS.items()}, "alone": ALONE}.items():
        config.addinivalue_line("markers", f"{name}: {about}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests that share something next to each other and in one process, those with most to share first."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    groups = {item: _group(item) for item in items}
    items.sort(key=lambda item: SHARED.index(groups[item]) if groups[item] in SHARED else len(SHARED))
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))


def _group(item: pytest.Item) -> str:
    """The first that it shares, or else its module."""
    return next((name for name in SHARED if item.get_closest_marker(name)), item.nodeid.partition("::")[0])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep how long each part of a test took, where somebody asks; workers of xdist leave that to their owner."""
    path = os.environ.get(TIMES)
    if path and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(path).open("a") as times:
            times.write(json.dumps([report.nodeid.partition("@")[0], report.duration]) + "\n")
