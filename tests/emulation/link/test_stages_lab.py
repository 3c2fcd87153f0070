"""Stages that need netem, in the lab kernel: they do what is asked, and what does not is found out by the proof."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from in_lab_kernel import FAITHFUL, FAULTY
from lab_kernels import answers_of, boots

pytestmark = [pytest.mark.labkernel, pytest.mark.link, boots]
WRONG = {
    "25 ms for 20": {"delay"},
    "no delay": {"delay"},
    "no jitter": {"jitter"},
    "three times the jitter": {"jitter"},
    "no duplicates": {"duplicates"},
    "not even one duplicate": {"duplicates"},
    "duplicates that nobody asked for": {"duplicates"},
    "no reordering": {"reordered"},
    "packets that overtake where order is kept": {"reordered"},
    "no damage": {"losses"},
    "damage that nobody asked for": {"losses"},
    "a station without its delay": {"delay"},
}


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """Of all cases, in one boot."""
    return answers_of(Path(__file__).parents[2] / "support" / "in_lab_kernel.py")


@pytest.mark.parametrize("case", FAITHFUL)
def test_a_link_does_what_is_asked(answers: dict[str, Any], case: str) -> None:
    assert answers["faithful"][case] == []


@pytest.mark.parametrize("case", FAULTY)
def test_a_link_that_does_something_else_is_found_out(answers: dict[str, Any], case: str) -> None:
    assert WRONG[case] <= set(answers["faulty"][case])


def test_a_handover_delays_what_is_sent_during_it_and_leads_to_another_cell(answers: dict[str, Any]) -> None:
    seen = answers["handover"]
    assert seen["arrived"] == 450
    assert seen["before"] == pytest.approx(10, abs=3)
    assert seen["within"] == pytest.approx(30, abs=3)
    assert seen["after"] == pytest.approx(15, abs=3)


def test_jitter_overtakes_only_where_order_is_not_kept(answers: dict[str, Any]) -> None:
    assert answers["in order"]["True"] == 0
    assert answers["in order"]["False"] > 50


def test_losses_are_the_listed_ones_where_br_netfilter_is_loaded(answers: dict[str, Any]) -> None:
    assert answers["br_netfilter"]["ours"] == {"on": "1", "lost": [3, 4, 49, 53, 54, 99], "bypassed": {}}


def test_a_loss_stage_that_br_netfilter_leads_past_is_found_out(answers: dict[str, Any]) -> None:
    """Up to Linux 6.6 packets do not come to the priority at which others would look for them."""
    old = tuple(map(int, answers["release"].split(".")[:2])) < (6, 7)
    expected = {"on": "1", "lost": [], "bypassed": {"uplink": 100}} if old else answers["br_netfilter"]["ours"]
    assert answers["br_netfilter"]["0"] == expected
