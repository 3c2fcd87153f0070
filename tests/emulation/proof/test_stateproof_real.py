"""Later states of a link on the machine's own kernel: changes hold, and a change that does not come is found out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from emulated_links import broken, ends, plan_of, profile, until_it_holds

from emulation.line.link import LineLink
from emulation.profile.media import MediumName
from emulation.proof.stateproof import later_states, proof_plan, prove_state
from emulation.tc.shaper import AppliedLink
from records.link import LinkCheck
from topologies.network import Network
from topologies.star import star

pytestmark = [pytest.mark.root, pytest.mark.link]

UNTIL_S = 10.0
EVENTS: list[dict[str, Any]] = [
    {"at": 1, "outage": 0.5},
    {"at": 2, "change": {"uplink": {"rate": "1 Mbit/s", "loss": 0.1}}},
    {"at": 3, "outage": 1, "stations": ["sta2"]},
    {"at": 5, "change": {"downlink": {"rate": "6 Mbit/s"}}},
]
LINK: dict[str, Any] = {"rate": "3 Mbit/s", "timeline": EVENTS}


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with star(stations=2, congestion_control="reno") as built:
        yield built


def proven(network: Network, made_by: MediumName) -> dict[str, list[LinkCheck]]:
    """What came of each later state, by the change that leads there."""
    one = profile(**LINK)
    plan = plan_of(network, one, timeline_s=UNTIL_S, made_by=made_by)
    made = proof_plan(plan, until_s=UNTIL_S)
    states = later_states(one, plan.groups, until_s=UNTIL_S)
    return {
        state.change: until_it_holds(
            lambda state=state: list(prove_state(made, network.ports, state, lambda station: ends(network, station)))  # type: ignore[misc]
        )
        for state in states
    }


def test_every_later_state_holds_and_says_which_it_is(network: Network, made_by: MediumName) -> None:
    found = proven(network, made_by)
    assert [change.rpartition(", at ")[2] for change in found] == ["1 s", "2 s", "3 s", "5 s"]
    for change, checks in found.items():
        assert broken(checks) == set(), [one for one in checks if not one.holds]
        assert {one.state for one in checks} == {change}
    slow, fast = list(found.values())[1::2]
    assert {(one.direction, round(one.asked)) for one in slow if one.quantity == "rate"} == {("uplink", 1e6)}
    assert {(one.direction, round(one.asked)) for one in fast if one.quantity == "rate"} == {("downlink", 6e6)}


def test_changes_that_never_reach_the_link_are_found_out(
    network: Network, made_by: MediumName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AppliedLink, "move", lambda *_: None)
    monkeypatch.setattr(LineLink, "go_through", lambda *_: None)
    one = profile(**LINK)
    plan = plan_of(network, one, timeline_s=UNTIL_S, made_by=made_by)
    made = proof_plan(plan, until_s=UNTIL_S)
    found = [
        broken(prove_state(made, network.ports, state, lambda station: ends(network, station)))
        for state in later_states(one, plan.groups, until_s=UNTIL_S)
    ]
    dark, slow, out, fast = found
    assert dark == out == {"losses"}
    assert {"rate", "losses"} <= slow
    assert "rate" in fast
