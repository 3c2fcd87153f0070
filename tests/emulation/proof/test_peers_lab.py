"""Ways between stations by tc with netem, in the lab kernel: as asked, and what is not so is found out by the proof."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from peers_in_lab_kernel import FAITHFUL, WRONG

from emulation import labkernel
from experiments.workers.isolation import SOURCES

pytestmark = [
    pytest.mark.labkernel,
    pytest.mark.link,
    pytest.mark.skipif(bool(labkernel.problem()), reason=labkernel.problem() or "-"),
]


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """All cases, in one boot."""
    script = Path(__file__).parents[2] / "support" / "peers_in_lab_kernel.py"
    words = labkernel.command([sys.executable, str(script)], timeout_s=600)
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | SOURCES)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("case", FAITHFUL)
def test_a_way_does_what_is_asked(answers: dict[str, Any], case: str) -> None:
    assert answers["faithful"][case] == []


@pytest.mark.parametrize("case", WRONG)
def test_a_way_that_does_something_else_is_found_out(answers: dict[str, Any], case: str) -> None:
    """`not turned`: a frame is led from station to station past the uplink's delay."""
    assert WRONG[case] <= set(answers["faulty"][case])
