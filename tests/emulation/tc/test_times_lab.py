"""Transmission times where the kernel has netem, with real packets in the lab kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab_kernels import answers_of, boots
from times_in_lab_kernel import IDLE, as_changed, as_recorded, near, own_rates, too_early_or_late

from emulation.profile.direction import FULL_FRAME

pytestmark = [pytest.mark.labkernel, pytest.mark.link, boots]


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """Of all cases, in one boot."""
    return answers_of(Path(__file__).parents[2] / "support" / "times_in_lab_kernel.py")


@pytest.mark.parametrize("case", IDLE)
def test_a_frame_that_finds_the_link_idle_takes_its_transmission_time(answers: dict[str, Any], case: str) -> None:
    assert too_early_or_late(case, answers["idle"][case]) == set()


def test_a_link_whose_frames_do_not_is_found_out(answers: dict[str, Any]) -> None:
    wrong = too_early_or_late("duplex", answers["not paid"])
    assert len([one for one in wrong if f" {FULL_FRAME}:" in one]) == 4, "each way, of each station"


def test_uplinks_of_several_stations_are_sent_at_the_same_time(answers: dict[str, Any]) -> None:
    assert own_rates(answers["uplinks"]), answers["uplinks"]


def test_one_netem_for_all_uplinks_is_found_out(answers: dict[str, Any]) -> None:
    assert not own_rates(answers["one netem"]), answers["one netem"]


def test_jitter_overtakes_behind_a_rate_where_order_is_not_kept(answers: dict[str, Any]) -> None:
    assert answers["held back"]["overtook"] > 50
    assert answers["in order"]["overtook"] == 0


@pytest.mark.parametrize("case", ["held back", "in order"])
def test_what_jitter_holds_back_costs_no_rate(answers: dict[str, Any], case: str) -> None:
    """With one netem for both, frames that one of them held up would be sent one after the other once more."""
    assert near(answers[case]["rate"], 2e6, 0.1)


def test_copies_take_no_air(answers: dict[str, Any]) -> None:
    """They come beside the frames that a burst is timed by."""
    assert answers["copies"]["rate"] > 1.15 * 2e6


def test_packets_do_not_wait_for_those_of_other_stations(answers: dict[str, Any]) -> None:
    """On one netem the latest of ten others' delays would hold them up by some 15 ms."""
    assert abs(answers["order of its own"]) < 6


def test_a_change_of_the_rate_is_one_of_the_transmission_time(answers: dict[str, Any]) -> None:
    assert as_changed(answers["changed"]), answers["changed"]


def test_a_trace_delivers_what_it_recorded(answers: dict[str, Any]) -> None:
    assert as_recorded(answers["traced"]), answers["traced"]
