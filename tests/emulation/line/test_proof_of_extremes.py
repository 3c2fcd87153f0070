"""Links that lose nearly all or hold next to nothing are proven, whatever their seed: by the line, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest
from emulated_links import broken, profile
from simulated_line import prove

from emulation.plan import linkplan
from emulation.proof.proof import Samples
from records.link import LinkCheck

SAMPLES = Samples(rate_s=0.3)
LOSSES: dict[str, dict[str, Any]] = {
    "long bursts": {"rate": 1e6, "loss": {"model": "gilbert-elliott", "p": 0.01, "r": 0.05}},
    "long bursts of a slow link": {"rate": 4.8e4, "loss": {"model": "gilbert-elliott", "p": 0.01, "r": 0.05}},
    "four of five": {"rate": 1e6, "loss": 0.8},
    "nine of ten": {"rate": 1e6, "loss": 0.9},
    "97 of 100": {"rate": 1e6, "loss": 0.97},
}
QUEUES: dict[str, dict[str, Any]] = {
    "30 packets": {"rate": 5e7, "queue_packets": 30},
    "5 ms": {"rate": 5e7, "queue_time": 0.005},
    "50 packets of a fast link": {"rate": 1e8, "queue_packets": 50},
    "two packets": {"rate": 1e6, "queue_packets": 2},
    "two full frames": {"rate": 1e6, "queue_bytes": 3028},
}


def proven(seed: int = 1, **settings: Any) -> list[LinkCheck]:
    plan = linkplan.plan(profile(**settings), ["sta1"], seed=seed, seconds=10, timeline_s=10, made_by="line")
    return prove(plan, samples=SAMPLES)


@pytest.mark.parametrize("case", LOSSES)
def test_a_link_that_loses_bursts_or_nearly_all_is_proven_whatever_its_seed(case: str) -> None:
    for seed in range(1, 21):
        checks = proven(seed, **LOSSES[case])
        assert broken(checks) == set(), (seed, [check for check in checks if not check.holds])
        assert [check.quantity for check in checks].count("delay") == 4, "small and full frames, both ways"


def test_a_link_that_loses_all_is_proven_by_that() -> None:
    checks = proven(rate=1e6, loss={"model": "recorded", "packets": 2, "lost": (0, 1)})
    assert broken(checks) == set()
    assert "losses" in {check.quantity for check in checks}
    assert not {"delay", "rate"} & {check.quantity for check in checks}


def test_packets_that_overtake_are_no_fault_of_a_link_that_others_use() -> None:
    """There a quarter of the single frames is looked at, and as many may have overtaken all that wait."""
    settings = profile(medium="shared", rate=1e6, delay=0.02, reorder=0.3, stations={"sta2": {"loss": 0.05}})
    for seed in range(1, 11):
        plan = linkplan.plan(settings, ["sta1", "sta2"], seed=seed, seconds=10, timeline_s=10, made_by="line")
        checks = prove(plan, samples=SAMPLES)
        assert any("lower quartile" in check.detail for check in checks)
        assert broken(checks) == set(), (seed, [check for check in checks if not check.holds])


@pytest.mark.parametrize("case", QUEUES)
def test_what_a_proof_sends_fits_into_the_shortest_queues(case: str) -> None:
    checks = proven(**QUEUES[case])
    assert broken(checks) == set(), [check for check in checks if not check.holds]
