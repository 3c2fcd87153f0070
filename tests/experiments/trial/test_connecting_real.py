"""Real trials over a geostationary satellite: what clients' connections know of it when the window begins.

The same trial with clients that connected before the link was applied shows what is wrong with that.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from connecting_seen import handshakes_s, ports
from lab_runs import assert_sound, lab, scenario_file

from emulation import labkernel
from emulation.profile import library
from experiments.campaign import campaign as campaigns
from records.manifest import Connecting
from records.store import Trial, trials
from records.verdict import Check, Health, HealthCheck

pytestmark = [
    pytest.mark.root,
    pytest.mark.labkernel,
    pytest.mark.skipif(bool(labkernel.problem()), reason=labkernel.problem() or "-"),
]

GEO = "geo-satellite"
ONE_WAY_S = library.load(GEO).uplink.delay - library.load(GEO).uplink.jitter
LEAST_S = 2 * ONE_WAY_S - 0.001  # TCP's timestamps count milliseconds
CLIENTS = {"publishers": 1, "subscribers": 1}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Trial]:
    """A trial of each way to connect, from one campaign."""
    folder = tmp_path_factory.mktemp("satellite")
    path = scenario_file(
        folder,
        network=GEO,
        stations=1,
        connect=["link", "bare"],
        workload={"clients": CLIENTS, "body_bytes": 200, "loop": "open", "rate": 5},
        window={"warmup_s": 1.5, "window_s": 2, "drain_s": 4},
    )
    done = lab("run", path, "--no-report", results=folder / "results")
    assert done.returncode in (0, 3), done.stdout + done.stderr
    (campaign,) = campaigns.folders(folder / "results")
    return {trial.manifest().cell.levels["connect"]: trial for trial in trials(campaign)}


def connecting(trial: Trial) -> Connecting:
    found = trial.manifest().connecting
    assert found is not None
    return found


def check(trial: Trial) -> HealthCheck:
    (found,) = [one for one in trial.verdict().checks if one.check is Check.PATH_RTT]
    return found


def test_connections_know_the_link_that_they_use(both: Mapping[str, Trial]) -> None:
    trial = both["link"]
    assert_sound(trial.verdict())
    assert check(trial).health is Health.PASSED, check(trial)
    found = connecting(trial)
    assert (found.over, found.quiet) == ("link", True)
    assert found.seconds > 3 * 2 * ONE_WAY_S  # TCP's handshake, the client's hello, its subscription
    for one in found.ends:
        assert one.min_rtt_s is not None
        assert one.rtt_s is not None
        assert one.min_rtt_s >= LEAST_S
        assert one.rto_s > one.rtt_s >= one.min_rtt_s
        assert (one.congestion_control, one.cwnd >= 1) == ("reno", True)


@pytest.mark.parametrize("over", ["link", "bare"])
def test_both_ends_of_every_connection_are_on_record(both: Mapping[str, Trial], over: str) -> None:
    trial = both[over]
    known = connecting(trial).ends
    for end in ("client", "server"):
        assert {(one.station, one.port) for one in known if one.end == end} == ports(trial.manifest())
    assert len(known) == 2 * sum(CLIENTS.values())


def test_connected_bare_they_know_a_wire_and_the_trial_says_so(both: Mapping[str, Trial]) -> None:
    trial = both["bare"]
    assert_sound(trial.verdict().model_copy(update={"checks": _without(trial, Check.PATH_RTT)}))
    found = connecting(trial)
    assert found.over == "bare"
    assert max(one.min_rtt_s or 0.0 for one in found.ends) < LEAST_S / 2
    assert (check(trial).health, check(trial).measured) == (Health.WAIVED, len(found.ends))
    assert "connect: bare" in check(trial).detail


def _without(trial: Trial, waived: Check) -> tuple[HealthCheck, ...]:
    return tuple(
        one.model_copy(update={"health": Health.PASSED}) if one.check is waived else one
        for one in trial.verdict().checks
    )


def test_captures_hold_the_handshakes(both: Mapping[str, Trial]) -> None:
    for over, trial in both.items():
        found = handshakes_s(trial)
        assert found.keys() == ports(trial.manifest())
        for seconds in found.values():
            assert (seconds >= LEAST_S) == (over == "link")
