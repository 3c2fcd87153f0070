"""The delay of a path over several segments is held against the sum of theirs."""

from __future__ import annotations

import numpy as np
import pytest
from unbuilt import unbuilt

from emulation.plan import linkplan
from emulation.profile.profile import LinkProfile
from emulation.proof.probe import MIN_FRAME, Arrivals
from experiments.trial import proving
from experiments.trial.proving import PATHS, path_check, to_prove

WIRE = {"name": "w", "description": "d", "source": "s", "medium": "duplex", "rate": "1 Mbit/s"}


def plans(*delays_s: float, jitter: float = 0.0) -> dict[str, linkplan.LinkPlan]:
    found = {}
    for number, delay in enumerate(delays_s):
        profile = LinkProfile.model_validate(WIRE | {"delay": delay, "jitter": jitter})
        station = f"r{number}" if number else "sta1"
        one = linkplan.plan(profile, [station], seed=1, seconds=1, timeline_s=1, made_by="line")
        found[f"link{number}" if number else "medium"] = one
    return found


def arrived(*delays_s: float) -> Arrivals:
    sent = np.arange(len(delays_s)) * 5_000_000
    return Arrivals(
        sent=20,
        number=np.arange(len(delays_s)),
        sent_ns=sent,
        received_ns=sent + (np.array(delays_s) * 1e9).astype(np.int64),
        frame_bytes=np.full(len(delays_s), MIN_FRAME),
    )


def way(jitter: float = 0.0) -> proving._Path:
    network = unbuilt(1, {"kind": "chain", "routers": 2, "link": "wire"})
    up, down = proving._different(network, plans(0.002, 0.01, 0.03, jitter=jitter))
    assert (up.segments, down.segments) == (("medium", "link1", "link2"), ("link2", "link1", "medium"))
    assert (up.direction, up.sender.name, down.sender.name) == ("uplink", "sta1", "server")
    return up


FRAMES_S = 3 * MIN_FRAME * 8 / 1e6


@pytest.mark.parametrize(
    ("delay_s", "holds"),
    [(0.042 + FRAMES_S, True), (0.0445 + FRAMES_S, True), (0.0418, False), (0.032, False), (0.052, False)],
)
def test_a_path_is_as_late_as_its_segments_together(delay_s: float, *, holds: bool) -> None:
    check = path_check(way(), arrived(*[delay_s] * 20))
    assert check.holds is holds, check
    assert check.asked == pytest.approx(0.042 + FRAMES_S)


def test_jitter_of_the_segments_widens_what_is_tolerated_and_no_more() -> None:
    check = path_check(way(jitter=0.002), arrived(*[0.042 + FRAMES_S] * 20))
    assert check.holds
    assert 0.038 < check.low < 0.042 + FRAMES_S
    assert check.high < 0.05


def test_a_path_over_which_nothing_comes_does_not_hold() -> None:
    assert not path_check(way(), arrived()).holds


def test_behind_a_translator_the_way_down_is_that_of_an_answer() -> None:
    network = unbuilt(1, {"kind": "cells", "cells": 1, "translate": True, "backbone": "wire"})
    profile = LinkProfile.model_validate(WIRE)
    made = {
        one.name: linkplan.plan(profile, one.stations, seed=1, seconds=1, timeline_s=1, made_by="line")
        for one in network.plan.emulated
    }
    up, down = proving._different(network, made)
    assert (up.segments, up.answers) == (("cell1", "link1"), False)
    assert (down.segments, down.answers) == (("link1", "cell1"), True)
    assert (down.sender.name, down.receiver.name, down.direction) == ("server", "sta1", "downlink")


@pytest.mark.parametrize("translate", [False, True])
def test_the_path_over_a_router_to_a_plain_switch_is_proven_in_both_directions(translate: bool) -> None:
    network = unbuilt(1, {"kind": "cells", "cells": 1, "translate": translate})
    (cell,) = network.plan.emulated
    assert [one.name for one in network.plan.segments] == ["cell1", "backbone"]
    up, down = proving._different(network, {"cell1": plans(0.002)["medium"]})
    assert up.segments == down.segments == (cell.name,)
    assert [(one.sender.name, one.receiver.name, one.direction) for one in (up, down)] == [
        ("sta1", "server", "uplink"),
        ("server", "sta1", "downlink"),
    ]
    assert (up.answers, down.answers) == (False, translate)
    check = path_check(up, arrived(*[0.002 + FRAMES_S / 3] * 20))
    assert check.holds, check
    assert not path_check(up, arrived(*[0.0045] * 20)).holds


@pytest.mark.parametrize(
    "topology", ["star", {"kind": "star", "servers": 2}, {"kind": "cells", "cells": 1, "at": "cell1"}]
)
def test_over_a_single_segment_there_is_no_path_to_prove(topology: object) -> None:
    network = unbuilt(1, topology)
    (one,) = network.plan.emulated
    assert list(proving._different(network, {one.name: plans(0.002)["medium"]})) == []


def test_paths_are_proven_where_there_are_several_segments() -> None:
    assert to_prove(plans(0.001), segments=1) == ("medium",)
    assert to_prove(plans(0.001), segments=2) == ("medium", PATHS), "a router is between it and a plain switch"
    assert to_prove(plans(0.001, 0.001), segments=2) == ("medium", "link1", PATHS)
