"""Whole trials over a line: how late it was is recorded and judged, and so are frames that no link carries."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import numpy as np
import pytest
from connecting_seen import assert_numbered_from_go, captured
from lab_runs import assert_sound, called, failed, machines, traces
from line_trials import assert_complete, check_of, lines_process, run

from analysis.journey.parts import PARTS
from analysis.trial import reduce_trial
from emulation.kernel.namespace import in_namespace, run_tool
from records.store import Trial
from records.verdict import Check, Health, Limiter, Verdict

pytestmark = [pytest.mark.root]

PER_SECOND = {
    "lateness_p50_s", "lateness_p99_s", "lateness_max_s", "release_p50_s", "release_p99_s", "release_max_s",
    "released_frames", "refused_frames", "too_large_frames", "largest_bytes",
}  # fmt: skip


@pytest.fixture(scope="module")
def over_a_line(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trial, Verdict]:
    """A trial that has left nothing."""
    folder = tmp_path_factory.mktemp("line")
    before = traces(folder)
    trial, verdict = run(folder)
    assert traces(folder) == before
    return trial, verdict


def test_a_trial_over_a_line_tells_how_late_it_was(over_a_line: tuple[Trial, Verdict]) -> None:
    trial, verdict = over_a_line
    assert_sound(verdict)
    check = check_of(verdict)
    # Whether it was on time is up to the machine here; test_foreign_load_real.py holds the line against the machine.
    assert check.measured is not None
    assert 0 < check.measured < 0.5
    assert check.health is (Health.PASSED if check.measured <= 0.001 else Health.FAILED), check
    assert "were read within" in check.detail
    rows = [row for row in trial.table("resources").to_pylist() if row["subject"] == "line"]
    metrics = {row["metric"] for row in rows}
    assert metrics == PER_SECOND | {"cpu_seconds", "rss_bytes"}
    window = trial.manifest().window
    of = {name: [row["value"] for row in rows if row["metric"] == name] for name in metrics}
    asked = [row["t_ns"] for row in rows if row["metric"] == "lateness_p99_s"]
    assert len(asked) >= (window.end_ns - window.start_ns) / 1e9, "at least once a second"
    assert max(asked) > window.drained_ns, "to the end"
    pairs = zip(of["lateness_p50_s"], of["lateness_p99_s"], of["lateness_max_s"], strict=True)
    assert all(0 <= half <= most <= worst for half, most, worst in pairs)
    assert of["released_frames"] == sorted(of["released_frames"])
    assert of["released_frames"][-1] > 100
    assert (of["refused_frames"][-1], of["too_large_frames"][-1]) == (0, 0)
    (use,) = [one for one in verdict.uses if one.of is Limiter.MACHINE]
    assert use.share is not None
    assert check_of(verdict, Check.SOFTIRQ_DROPS).measured is not None


def test_it_is_recorded_at_all_four_points_and_its_messages_are_attributed(
    over_a_line: tuple[Trial, Verdict],
) -> None:
    trial, verdict = over_a_line
    assert_complete(trial, verdict)
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


def test_a_line_that_does_not_run_for_a_while_makes_its_trial_invalid(tmp_path: Path) -> None:
    def starve() -> None:
        line = lines_process()
        line.suspend()
        time.sleep(0.3)
        line.resume()

    trial, verdict = run(tmp_path, starve)
    against = failed(verdict)
    assert Check.LINE_LATENESS in against
    assert against == machines(against), "the machine alone can do that, so the trial is run again"
    check = check_of(verdict)
    assert check.measured is not None
    assert check.measured > 0.2
    worst = [row["value"] for row in trial.table("resources").to_pylist() if row["metric"] == "lateness_max_s"]
    assert 1 <= sum(one > 0.2 for one in worst) < len(worst), "in the second in which it happened"


def test_a_frame_above_the_mtu_makes_its_trial_invalid_with_what_to_do(tmp_path: Path) -> None:
    """Both ends of a cable are given a larger MTU, and the server sends a larger packet than a link carries."""

    def enlarge() -> None:
        (server,) = called("mininet:server")
        run_tool(["ip", "link", "set", "wired", "mtu", "4000"], pid=lines_process().pid)
        run_tool(["ip", "link", "set", "server-eth", "mtu", "4000"], pid=server.pid)
        with in_namespace(server.pid, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender:
            sender.sendto(bytes(3000), ("10.77.0.2", 9))

    _, verdict = run(tmp_path, enlarge)
    check = check_of(verdict, Check.OFFLOADS_OFF)
    assert check.health is Health.FAILED, check
    assert check.measured == 3
    assert "server-eth: MTU 4000, wired: MTU 4000" in check.detail
    assert "1 frames came to the line" in check.detail
    assert "set every MTU to 1500" in check.detail
