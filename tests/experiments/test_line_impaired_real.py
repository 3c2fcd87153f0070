"""Whole trials over links of the line, on this kernel, netem or not: recorded and proven as with tc."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml
from connecting_seen import assert_numbered_from_go, captured
from lab_runs import assert_sound, failed, traces
from test_trial_real import run

from analysis.journey.parts import PARTS
from analysis.trial import reduce_trial
from emulation import linkplan
from emulation.linkplan import LinkPlan
from emulation.profile import LinkProfile
from experiments import trial as trials
from experiments.settings import Settings
from results.store import Trial
from results.verdict import Check, Verdict

pytestmark = [pytest.mark.root]

SHORT = {"warmup_s": 0.5, "window_s": 4, "drain_s": 4}
IMPAIRED = {
    "name": "impaired",
    "description": "for tests",
    "source": "made for tests",
    "medium": "shared",
    "rate": "4 Mbit/s",
    "frame_overhead": "300 us",
    "delay": "15 ms",
    "jitter": "4 ms",
    "jitter_distribution": "normal",
    "duplicate": 0.02,
    "corrupt": 0.02,
    "reorder": 0.02,
    "loss": 0.01,
    "timeline": [{"at": "1 s", "outage": "300 ms"}, {"at": "2 s", "change": {"rate": "2 Mbit/s", "delay": "30 ms"}}],
}


@pytest.fixture(autouse=True)
def made_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every link of these trials."""

    def planned(
        profile: LinkProfile, settings: Settings, stations: Sequence[str], seed: int, *_: object
    ) -> LinkPlan:  # fmt: skip
        times = settings.window
        after_s = times.window_s + times.drain_s
        return linkplan.plan(
            profile, stations, seed=seed, seconds=times.warmup_s + after_s, timeline_s=after_s, made_by="line"
        )

    monkeypatch.setattr(trials, "link_plan", planned)


def sound(trial: Trial, verdict: Verdict) -> None:
    """Whatever the machine did, the trial has every record, and every message of it is accounted for."""
    assert_sound(verdict)
    link = trial.link()
    assert {"rate", "delay", "losses", "loss", "bypass"} <= {one.quantity for one in link.checks}
    assert len(trial.table("delivered")) > 20
    assert not [one for one in reduce_trial(trial.path, 0).to_pylist() if one["table"] == "damage"]


def test_a_trial_is_recorded_at_all_four_points_and_its_messages_are_attributed(tmp_path: Path) -> None:
    before = traces(tmp_path)
    trial, verdict, _ = run(tmp_path, network="nistnet-80211", window=SHORT)
    sound(trial, verdict)
    assert traces(tmp_path) == before
    manifest = trial.manifest()
    assert {one.side for one in manifest.captures} == {"station", "wired", "client", "server"}
    rows = reduce_trial(trial.path, 0).to_pylist()
    metrics = {row["metric"]: row["value"] for row in rows if row["table"] == "trial"}
    why = [row["text"] for row in rows if row["table"] == "journey" and row["metric"] == "why"]
    assert metrics["journey_share"] >= 0.9 or Check.CAPTURE_DROPS in failed(verdict), why
    mean = {row["metric"]: row["value"] for row in rows if row["table"] == "journey" and row["key"] == "mean"}
    assert sum(mean[name] for name in PARTS) == pytest.approx(mean["latency"], rel=0.01)
    assert mean["uplink_recovery"] + mean["downlink_recovery"] > 0
    if Check.CAPTURE_DROPS not in failed(verdict):
        assert_numbered_from_go(trial)
        assert_ports_agree_with_counters(trial)


def assert_ports_agree_with_counters(trial: Trial) -> None:
    """What a node sends is at the access point's port; what the losses have let through is at the port behind them."""
    manifest = trial.manifest()
    (whole,) = [one for one in trial.link().counters if one.during == "trial"]
    seen = {side: dict(captured(trial, manifest, side)) for side in ("client", "station", "wired", "server")}  # type: ignore[arg-type]
    for node in seen["client"]:
        assert len(seen["client"][node].t_ns) == len(seen["station"][node].t_ns)
    ((_, wired),), ((_, server),) = seen["wired"].items(), seen["server"].items()
    assert len(wired.t_ns) == len(server.t_ns)
    ends = manifest.window.go_ns + manifest.clock_offset_ns, manifest.window.drained_ns + manifest.clock_offset_ns
    stations = np.concatenate([one.t_ns for one in seen["station"].values()])
    met = {one.direction: (one.seen, one.dropped) for one in whole.losses}
    # Uplink: stations' ports are before, the wired one behind; of the downlink it is the other way round.
    at_stations = np.count_nonzero((stations >= ends[0]) & (stations <= ends[1]))
    at_wired = np.count_nonzero((wired.t_ns >= ends[0]) & (wired.t_ns <= ends[1]))
    (up, up_lost), (down, down_lost) = met["uplink"], met["downlink"]
    assert at_stations == pytest.approx(up + down - down_lost, abs=6), "counters are read a moment after the drain"
    assert at_wired == pytest.approx(up - up_lost + down, abs=6)


def test_delay_jitter_copies_damage_and_reordering_without_netem(tmp_path: Path) -> None:
    (tmp_path / "impaired.yaml").write_text(yaml.safe_dump(IMPAIRED, sort_keys=False))
    trial, verdict, _ = run(tmp_path, network="impaired.yaml", window=SHORT)
    sound(trial, verdict)
    link = trial.link()
    assert [event.label for event in link.events] == [
        "outage begins", "outage ends", "rate 2 Mbit/s, delay 30 ms",
    ]  # fmt: skip
    assert {one.quantity for one in link.checks} >= {"delay", "jitter", "duplicates", "losses", "reordered"}
    (changes,) = [one for one in link.checks if one.quantity == "change"]
    assert changes.detail == "the latest of 3 changes; 3 were due"
    assert {one.state for one in link.later or ()} == {"outage begins, at 1 s", "rate 2 Mbit/s, delay 30 ms, at 2 s"}
    (whole,) = [one for one in link.counters if one.during == "trial"]
    assert whole.dark
    assert sum(whole.dark.values()) > 0


@pytest.mark.parametrize("name", ["geo-satellite", "lte", "vehicle-handover", "stepped-trace"])
def test_profiles_that_needed_netem_or_a_kernel_run_natively(tmp_path: Path, name: str) -> None:
    trial, verdict, _ = run(tmp_path, network=name, window=SHORT | {"drain_s": 6})
    sound(trial, verdict)


def test_turns_that_only_the_line_can_take_are_proven(tmp_path: Path) -> None:
    slow = {
        "name": "anomaly", "description": "for tests", "source": "made for tests", "medium": "shared",
        "rate": "4 Mbit/s", "turns": "airtime", "station_rate": "phy", "stations": {"sta2": {"rate": "1 Mbit/s"}},
    }  # fmt: skip
    (tmp_path / "anomaly.yaml").write_text(yaml.safe_dump(slow, sort_keys=False))
    trial, verdict, _ = run(tmp_path, network="anomaly.yaml", window=SHORT)
    sound(trial, verdict)
    rates = {one.asked for one in trial.link().checks if one.quantity == "rate" and one.source == "probe"}
    assert rates == {4e6, 1e6}
