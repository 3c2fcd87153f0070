"""How two TCP flows share the line's air: what is the medium's doing, and what is TCP's.

Over one drop-tail queue two flows can lock into phase, so that all losses hit one of them: Floyd and Jacobson, On
traffic phase effects in packet-switched gateways, 1992.  An exact medium brings that out; it ends with as much chance
in the hosts as a frame takes to be sent.
"""

from __future__ import annotations

import pytest
from tcp_model import MS, Uploads

LINK = {"rate": 50e6, "delay_ns": 25 * MS, "queue_s": 0.1, "host_ns": 30_000}


def shares(seconds: int, *, skip: int, **change: object) -> tuple[float, float, Uploads]:
    """Goodput of both behind the first seconds, in Mbit/s."""
    made = Uploads(**(LINK | {"chance_ns": 0, "apart": False} | change))  # type: ignore[arg-type]
    rows = made.run(seconds)[skip:]
    first, second = (sum(row[flow] for row in rows) / len(rows) / 1e6 for flow in (0, 1))
    return first, second, made


def test_over_one_queue_two_flows_lock_into_phase_where_nothing_is_left_to_chance() -> None:
    first, second, made = shares(40, skip=20)
    assert max(first, second) > 2 * min(first, second)
    drops = sorted(flow.dropped for flow in made.flows)
    assert drops[1] > 3 * drops[0], "nearly all losses hit one of them"
    assert first + second < 47.9, "no more than frames and acknowledgements leave room for"


@pytest.mark.parametrize("chance_ns", [300_000, 1_000_000])
def test_with_some_chance_in_the_hosts_neither_stays_ahead(chance_ns: int) -> None:
    first, second, _ = shares(120, skip=0, chance_ns=chance_ns)
    assert max(first, second) < 1.35 * min(first, second)


def test_with_turns_by_packets_they_share_evenly_from_the_start() -> None:
    first, second, made = shares(20, skip=5, apart=True)
    assert first == pytest.approx(second, rel=0.02)
    # Two frames for an acknowledgement.
    assert first + second == pytest.approx(50 * 2 * 1448 / (2 * 1514 + 66), rel=0.01)
    assert [flow.dropped > 0 for flow in made.flows] == [True, True]
