"""Random transfers: what the vectorised analysis says equals what a model says byte by byte."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import mean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from journey_world import CONSUMER_PORT, PRODUCER_PORT, World
from slow_journey import Leg, Sending, leg

from analysis.journey.parts import PARTS
from analysis.journey.summary import near, summary

HEADER, SIZE = b"head ", 60
FRAME = len(HEADER) + SIZE
SLOT_MS = 0.01  # no two things happen at one time


@st.composite
def transfers(draw: st.DrawFn, length: int) -> list[tuple[int, int, int | None]]:
    """(begin, end, how many slots later it arrives), in the order of sending; the first begins the stream."""
    begin = st.integers(0, length - 1)
    size = st.integers(1, length)
    delay = st.none() | st.integers(1, 12)
    found = [(0, draw(size), draw(delay))]
    found += [(at, min(at + more, length), late) for at, more, late in draw(st.lists(st.tuples(begin, size, delay)))]
    # Most of the time TCP gets everything through in the end.
    if draw(st.integers(0, 3)):
        found.append((0, length, 3))
    return found


def sendings(plan: list[tuple[int, int, int | None]], start_ms: float) -> list[Sending]:
    found = []
    for number, (begin, end, late) in enumerate(plan):
        left = start_ms + 2 * number * SLOT_MS
        arrived = None if late is None else left + (2 * late + 1) * SLOT_MS + number * SLOT_MS / 1000
        found.append(Sending(begin=begin, end=end, left=left, arrived=arrived))
    return found


def put(world: World, stream: bytes, sent: list[Sending], *, up: bool, first: int) -> None:
    for one in sent:
        packet = world.packet(up=up, seq=first + one.begin, payload=stream[one.begin : one.end])
        enter, leave = ("station", "wired") if up else ("wired", "station")
        world.seen(packet, **{enter: one.left})
        if one.arrived is not None:
            world.seen(packet, **{leave: one.arrived})


def expected(up: Leg, down: Leg, *, sched_ms: float, recv_ms: float) -> dict[str, float]:
    return {
        "client": up.left - sched_ms, "uplink_recovery": up.sent - up.left, "uplink_air": up.arrived - up.sent,
        "wire": 0.0, "broker": down.left - up.arrived, "downlink_recovery": down.sent - down.left,
        "downlink_air": down.arrived - down.sent, "receiver": recv_ms - down.arrived,
    }  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(data=st.data(), messages=st.integers(1, 4), first=st.sampled_from([0, 1, 2**32 - 70, 2**31 - 40]))
def test_random_transfers_agree_with_the_model(data: st.DataObject, messages: int, first: int) -> None:
    world = World(sides=("station", "wired"))
    stream = b"".join(HEADER + world.publish(seq, at_ms=seq, size=SIZE) for seq in range(messages))
    ways = {}
    for up, start_ms in ((True, 10.0), (False, 100.0)):
        ways[up] = sendings(data.draw(transfers(len(stream))), start_ms)
        put(world, stream, ways[up], up=up, first=first)
    for seq in range(messages):
        world.deliver(seq, at_ms=200)
    with tempfile.TemporaryDirectory() as folder:
        found = world.journey(Path(folder))
    wanted, copies = [], []
    for seq in range(messages):
        begin = seq * FRAME + len(HEADER)
        up, down = (leg(ways[way], begin, begin + SIZE) for way in (True, False))
        if up is not None and down is not None:
            wanted.append(expected(up, down, sched_ms=seq, recv_ms=200))
            copies.append(up.copies)
    got = [dict(zip(PARTS, column, strict=True)) for column in (found.parts.T * 1e3).tolist()]
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        assert one == pytest.approx(other, abs=1e-5)
    if copies:
        assert found.copies["uplink"] == pytest.approx(mean(copies))
    assert found.account.attributed == len(wanted)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), messages=st.integers(1, 4), first=st.sampled_from([0, 2**32 - 70]))
def test_random_transfers_between_stations_agree_with_the_model(data: st.DataObject, messages: int, first: int) -> None:
    world = World(sides=("station",), serverless=True)
    stream = b"".join(HEADER + world.publish(seq, at_ms=seq, size=SIZE) for seq in range(messages))
    sent = sendings(data.draw(transfers(len(stream))), 10.0)
    for one in sent:
        times = (one.left,) if one.arrived is None else (one.left, one.arrived)
        payload = stream[one.begin : one.end]
        world.cross(("sta1", "sta2"), (PRODUCER_PORT, CONSUMER_PORT), seq=first + one.begin, payload=payload, t=times)
    for seq in range(messages):
        world.deliver(seq, at_ms=200)
    with tempfile.TemporaryDirectory() as folder:
        found = world.journey(Path(folder))
    ways = [leg(sent, seq * FRAME + len(HEADER), (seq + 1) * FRAME) for seq in range(messages)]
    wanted = [
        (way.left - seq, way.sent - way.left, way.arrived - way.sent, 200 - way.arrived)
        for seq, way in enumerate(ways) if way is not None
    ]  # fmt: skip
    assert found.account.attributed == len(wanted)
    for column, one in zip(found.parts.T * 1e3, wanted, strict=True):
        assert column.tolist() == pytest.approx(one, abs=1e-5)


@given(latency=st.lists(st.floats(0.001, 10), min_size=1, max_size=300).map(np.array), share=st.floats(0, 0.9999))
def test_the_deliveries_near_a_percentile_are_around_it(latency: np.ndarray, share: float) -> None:
    chosen = np.sort(latency[near(latency, share)])
    assert 1 <= len(chosen) <= 1 + 0.02 * len(latency) + 1
    low = np.count_nonzero(latency < chosen[0])
    assert low - 1 <= share * (len(latency) - 1) + 0.5
    assert np.quantile(latency, max(share - 0.03, 0) * (len(latency) > 30)) <= chosen[-1] + 1e-12


@given(
    parts=st.lists(st.lists(st.floats(0, 5), min_size=8, max_size=8), min_size=1, max_size=50).map(
        lambda rows: np.array(rows).T
    )
)
def test_every_percentile_has_the_ledgers_latency_and_the_parts_of_the_same_deliveries(parts: np.ndarray) -> None:
    latency = parts.sum(axis=0)
    found = summary(PARTS, parts, latency)
    assert list(found) == ["mean", "p50", "p90", "p99", "p99.9"]
    for key, means in found.items():
        which = np.arange(len(latency)) if key == "mean" else near(latency, float(key[1:]) / 100)
        assert means["latency"] == pytest.approx(latency[which].mean())
        assert [means[name] for name in PARTS] == pytest.approx(parts[:, which].mean(axis=1).tolist())
    assert found["p99.9"]["latency"] == pytest.approx(latency.max()) or parts.shape[1] < 3
