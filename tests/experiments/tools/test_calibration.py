"""Stations for all that a profile says; what a worker that ended has not answered is told in words."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from emulated_links import profile

from emulation.profile import library
from experiments.tools import calibration
from experiments.workers.kernels import Kernels
from experiments.workers.place import Place
from experiments.workers.worker import Failed
from records.calibration import Calibrated
from topologies.plan import MAX_STATIONS

FIRST, SECOND = "wireline-100m", "lte"
ANSWER = Calibrated(profile=FIRST, kernel="host", stations=("sta1",), checks=(), tries=1)
WHOLE = ANSWER.model_dump_json()


def test_all_stations_that_a_profile_names_are_there_events_included() -> None:
    event = {"at": 1, "outage": 1, "stations": ["sta3"]}
    assert calibration.stations_needed(profile(rate=2e6)) == 1
    assert calibration.stations_needed(profile(rate=2e6, timeline=[event])) == 3
    assert calibration.stations_needed(profile(rate=2e6, stations={"sta2": {"loss": 0.1}}, timeline=[event])) == 3


def test_more_stations_than_a_medium_has_are_told() -> None:
    far = profile(rate=2e6, stations={f"sta{MAX_STATIONS + 1}": {"loss": 0.1}})
    for wanted in calibration.WANTED:
        ((_, why),) = calibration._places_for(far, wanted, "auto", Kernels())
        assert why == f"it names station {MAX_STATIONS + 1}, and a medium has {MAX_STATIONS} at most"


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
