"""What a worker that ended has not answered is told in words, however much of its answer came."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from emulation.profile import library
from experiments.tools import calibration
from experiments.workers.place import Place
from experiments.workers.worker import Failed
from records.calibration import Calibrated

FIRST, SECOND = "wireline-100m", "lte"
ANSWER = Calibrated(profile=FIRST, kernel="host", stations=("sta1",), checks=(), tries=1)
WHOLE = ANSWER.model_dump_json()


@pytest.mark.parametrize(
    ("said", "found", "why"),
    [
        (f"{WHOLE}\n{WHOLE[:40]}", [ANSWER], "the worker ended before it"),
        (WHOLE[:40], [], "the worker ended before it"),
        ("", [], "the worker ended before it"),
        (f"{Failed(kind='OSError', message='no such luck').model_dump_json()}\n", [], "no such luck"),
    ],
    ids=["half a line", "half of the first", "nothing", "why"],
)
def test_profiles_that_a_worker_has_not_answered_say_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, found: list[Calibrated], why: str
) -> None:
    words = ["sh", "-c", f"read request; printf %s {shlex.quote(said)}"]
    monkeypatch.setattr(calibration, "isolated", lambda *_: words)
    profiles = [library.load(name) for name in (FIRST, SECOND)]
    with (tmp_path / "messages").open("w") as messages:
        told = list(calibration._on(Place("host", "tc"), profiles, 1, messages))
    assert told == [
        *found,
        *(
            Calibrated(profile=name, kernel="host", medium="tc", refused=why, failed=True)
            for name in (FIRST, SECOND)[len(found) :]
        ),
    ]
