"""Losses that are numbered anew drop the same packet numbers again, whatever passed before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from emulated_links import link, path

from emulation.link.link import Link
from emulation.profile.media import MediumName
from emulation.proof.probe import MIN_FRAME, ProbePath
from emulation.proof.trialproof import loss_checks
from topologies.network import Network
from topologies.star import star

pytestmark = [pytest.mark.root]

LOSSES = 0.03
SENT = 400


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with star(stations=2, congestion_control="reno") as built:
        yield built


def lost(probe: ProbePath, packets: int) -> list[int]:
    """Which of the next `packets` packets, counted from 0, do not arrive."""
    first = probe.sent
    arrivals = probe.send([MIN_FRAME] * packets)
    return sorted(set(range(packets)) - set((arrivals.number - first).tolist()))


def listed(made: Link) -> list[int]:
    """Which of the first packets up the loss list drops."""
    return np.flatnonzero(made.plan.losses[0].lists(np.arange(SENT))).tolist()


def test_after_it_the_first_packet_is_number_zero_and_counters_begin_there(
    network: Network, made_by: MediumName
) -> None:
    with link(network, made_by=made_by, loss=LOSSES) as made, path(network) as probe:
        # A hello of some packets, as clients send one before a trial's first message.
        lost(probe, 137)
        assert made.loss_counts()[0].seen == 137
        made.renumber()
        assert [(one.seen, one.dropped) for one in made.loss_counts()] == [(0, 0), (0, 0)]
        assert lost(probe, SENT) == listed(made) != []
        up, down = made.loss_counts()
        assert (up.seen, up.dropped, down.seen) == (SENT, len(listed(made)), 0)
        assert all(check.holds for check in loss_checks(made.plan.losses, made.loss_counts()))


def test_without_it_what_passed_before_decides_what_is_lost(network: Network, made_by: MediumName) -> None:
    with link(network, made_by=made_by, loss=LOSSES) as made, path(network) as probe:
        lost(probe, 137)
        assert lost(probe, SENT) != listed(made)


def test_lists_of_other_groups_and_states_are_numbered_anew_too(network: Network, made_by: MediumName) -> None:
    events = [{"at": 1.0, "change": {"loss": 0.1}}]
    own = {"sta2": {"loss": 0.2}}
    with link(network, made_by=made_by, loss=LOSSES, stations=own, timeline=events) as made, path(network) as probe:
        names = [one.name for one in made.plan.losses]
        assert len(names) > 4
        lost(probe, 10)
        made.renumber()
        assert [(one.name, one.seen) for one in made.loss_counts()] == [(name, 0) for name in names]
        assert lost(probe, SENT) == listed(made)
