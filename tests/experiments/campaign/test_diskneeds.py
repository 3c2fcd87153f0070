"""How much disk a campaign may need: near what was measured, never above what its link or schedule lets through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from invented import manifest
from lab_runs import ROOT, scenario_file

from experiments.campaign import diskneeds
from experiments.campaign.diskneeds import Part, Size, expected, needed
from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import Scenario
from records.filenames import MANIFEST
from records.manifest import Capture
from records.packed import Elsewhere
from records.store import Trial, write_record

DEFAULT = ROOT / "experiments" / "scenarios" / "wireless-vs-wireline.yaml"
MB = 1e6


def parts(scenario: Scenario) -> list[Part]:
    return [
        Part(settings=cell.settings, trial=trial, size=expected(cell.settings, cell.profile, cell.links))
        for cell in scenario.cells
        for trial in range(1, scenario.settings.trials.cap + 1)
    ]


def size_of(folder: Path, **settings: Any) -> Size:
    (cell,) = scenarios.load(scenario_file(folder, **settings)).cells
    return expected(cell.settings, cell.profile, cell.links)


def test_the_default_experiment_needs_about_what_it_left() -> None:
    need = needed(parts(scenarios.load(DEFAULT)))
    measured = 2.1e9  # 24 trials on two cores
    assert need.trials == 24
    assert 0.8 * measured < need.bytes < 1.6 * measured
    assert need.captures > 0.9 * need.bytes


def test_on_the_studys_channel_the_link_decides_how_much_is_recorded(tmp_path: Path) -> None:
    """1 Mbit/s for ten seconds at four ports is 5 MB, with its records' heads somewhat more."""
    work = {"clients": {"publishers": 1, "subscribers": 1}, "body_bytes": 5120}
    window = {"warmup_s": 0, "window_s": 8, "drain_s": 2}
    found = size_of(tmp_path, network="nistnet-80211", workload=work, window=window)
    assert 4.5 * MB < found.captures < 6 * MB


def test_a_schedule_bounds_what_is_recorded(tmp_path: Path) -> None:
    """40 messages a second to 2 of 4 subscribers each, for 4.3 seconds, at two ports, and their acknowledgements."""
    bodies = 2 * 40 * 3 * (200 + 230 + 66 + 16) * 4.3
    assert bodies < size_of(tmp_path).captures < 1.5 * bodies


def test_pauses_between_bursts_write_nothing(tmp_path: Path) -> None:
    """Ten messages at once, each two seconds: 40 of them at most in 6.3 s."""
    work = {"clients": {"publishers": 1, "subscribers": 1}, "body_bytes": 200, "loop": "open", "rate": 1000}
    window = {"warmup_s": 0.3, "window_s": 4, "drain_s": 3}
    often = size_of(tmp_path, workload=work, window=window).captures
    seldom = size_of(tmp_path, workload=work | {"bursts": {"messages": 10, "pause_s": 2}}, window=window).captures
    assert seldom / often == pytest.approx(40 / 6.3 / 1000)


def test_a_reply_is_written_as_its_request_is(tmp_path: Path) -> None:
    load = {"body_bytes": 4000, "loop": "open", "rate": 10}
    asked = load | {"pattern": "request_reply", "clients": {"callers": 1, "services": 1}}
    one_way = size_of(tmp_path, workload=load | {"clients": {"publishers": 1, "subscribers": 1}}).captures
    assert 1.8 < size_of(tmp_path, workload=asked).captures / one_way < 2


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ({"capture": {"snap_bytes": 96}}, {}),
        ({"capture": {"points": "wired"}}, {}),
        ({}, {"network": "nistnet-80211"}),  # a slow link is recorded whole at more ports
        ({}, {"window": {"warmup_s": 0.3, "window_s": 4, "drain_s": 3}}),
    ],
)
def test_what_is_recorded_grows_with_what_is_asked(tmp_path: Path, less: dict[str, Any], more: dict[str, Any]) -> None:
    assert size_of(tmp_path, **less).captures < size_of(tmp_path, **more).captures


FEW = {"workload": {"clients": {"publishers": 1, "subscribers": 1}, "body_bytes": 200, "loop": "open", "rate": 10}}
ALL = {"capture": {"points": "station wired client server", "snap_bytes": 500}}


@pytest.mark.parametrize(
    ("topology", "ports"),
    [
        ({"kind": "star"}, 4),
        ({"kind": "chain", "routers": 2, "link": "wireline-10m"}, 3 + 2 + 3),  # a router is no client and no server
        ({"kind": "cells", "cells": 2}, 3),  # the servers are on a plain switch; a path passes one of two cells
        ({"kind": "cells", "cells": 2, "backbone": "wireline-10m"}, 3 + 2),
        (
            {"kind": "tree", "servers": 3, "link": "wireline-10m"},
            (4 + (4 + 3) + (4 + 3 + 3)) / 3,
        ),  # at the server, its parent, below that
        ({"kind": "peers"}, 4),  # both stations' ports, and the other ends of their cables
    ],
    ids=str,
)
def test_ports_of_all_links_count_by_how_many_of_the_paths_cross_them(
    tmp_path: Path, topology: dict[str, Any], ports: float
) -> None:
    stack = "reference-peers" if topology["kind"] == "peers" else "reference"
    star, found = (
        size_of(tmp_path, network="wireline-10m", stack=stack, topology=topology, **FEW, **ALL).captures
        for stack, topology in (("reference", "star"), (stack, topology))
    )
    assert found / star == pytest.approx(ports / 4)


def test_nothing_is_expected_of_captures_that_are_off(tmp_path: Path) -> None:
    assert size_of(tmp_path, capture=False).captures == 0
    assert size_of(tmp_path, capture=False).rest == size_of(tmp_path).rest


@pytest.mark.parametrize(
    ("capture", "stay_mb"),
    [
        ({}, [100, 100, 100, 100]),
        ({"keep_every": 3}, [100, 0, 0, 100]),
        ({"keep_mb": 100}, [100] * 4),
        ({"keep_mb": 60}, [60] * 4),  # they may turn out smaller, and stay
        ({"keep_mb": 20}, [0] * 4),
        ({"keep_mb": 60, "keep_every": 2}, [60, 0, 60, 0]),
    ],
)
def test_captures_that_do_not_stay_count_while_their_trial_runs(
    tmp_path: Path, capture: dict[str, Any], stay_mb: list[int]
) -> None:
    settings = scenarios.load(scenario_file(tmp_path, capture=capture)).settings
    size = Size(captures=100 * MB, rest=1 * MB)
    some = [Part(settings=settings, trial=trial, size=size) for trial in range(1, 5)]
    assert [round((part.stays - size.rest) / MB) for part in some] == stay_mb
    need = needed(some)
    assert need.captures == sum(stay_mb) * MB
    passing = need.bytes - sum(part.stays for part in some)
    assert passing >= (100 - min(stay_mb)) * MB


def test_trials_side_by_side_pass_together(tmp_path: Path) -> None:
    settings = scenarios.load(scenario_file(tmp_path, capture={"keep_mb": 0})).settings
    size = Size(captures=100 * MB, rest=0)
    alone, four = (needed([Part(settings=settings, trial=1, size=size, beside=n)]).bytes for n in (1, 4))
    assert four - alone >= 300 * MB


def test_what_trials_have_left_goes_before_what_is_expected(tmp_path: Path) -> None:
    found = []
    for number, megabytes in ((1, 3), (2, 5)):
        trial = Trial(tmp_path / f"trial-{number:03d}")
        (trial.path / "logs").mkdir(parents=True)
        (trial.path / "logs" / "server.log").write_bytes(b"x" * 1000 * number)
        (trial.path / "wired.pcap").write_bytes(b"x" * 10)
        capture = Capture(file="wired.pcap", port="wired", side="wired", node="server", snap_bytes=96, packets=1,
                          dropped=0, bytes=megabytes * 10**6, sha256="")  # fmt: skip
        write_record(trial.path / MANIFEST, manifest(captures=(capture,)))
        found.append(trial)
    size = diskneeds.seen(found)
    assert size is not None
    assert size.captures == 5 * MB, "counted, though not kept"
    assert 2000 < size.rest < 10_000
    (found[1].path / MANIFEST).write_text("{")
    assert diskneeds.seen(found) == diskneeds.seen(found[:1])
    assert diskneeds.seen([]) is None


def test_what_a_pack_left_out_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(tmp_path)
    write_record(trial.path / MANIFEST, manifest())
    away = Elsewhere(file="published.parquet", bytes=7_000_000, sha256="0" * 64)
    monkeypatch.setattr(Trial, "elsewhere", lambda _: (away,))
    size = diskneeds.seen([trial])
    assert size is not None
    assert size.rest > 7 * MB


def test_free_space_is_asked_where_the_folder_will_be(tmp_path: Path) -> None:
    here = diskneeds.free_bytes(tmp_path)
    assert here is not None
    assert here > 0
    assert diskneeds.free_bytes(tmp_path / "not" / "yet") is not None
