from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.kernel import qdisc

TICK_S = 64e-9
OPTIONS = {
    "delay": 0.02,
    "jitter": 0.005,
    "distribution": np.array([-8192, 0, 8192], np.int16),
    "keep_order": True,
    "reorder": 0.0,
    "duplicate": 0.0,
    "corrupt": 0.0,
    "limit": 1000,
}


def attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while data:
        length, kind = struct.unpack_from("HH", data)
        found[kind] = data[4:length]
        data = data[length + (-length % 4) :]
    return found


@given(st.integers(8_000, 10**10), st.floats(0, 0.01), st.integers(1514, 10**6))
def test_a_class_says_its_rate_overhead_and_burst(rate: int, overhead: float, burst: int) -> None:
    found = attributes(qdisc.htb_class(rate=rate, ceil=rate, overhead=overhead, burst_bytes=burst))
    layer, overhead_bytes, _, _, coarse = struct.unpack_from("xBHhHI", found[1])
    buffer, ceil_buffer, quantum, level, rank = struct.unpack_from("IIIII", found[1], 24)
    assert layer == 1
    exact = struct.unpack("Q", found[6])[0] if 6 in found else coarse
    assert exact == pytest.approx(rate / 8, abs=1)
    assert overhead_bytes == pytest.approx(min(overhead * rate / 8, 65535), abs=1)
    assert buffer * TICK_S == pytest.approx(min(burst * 8 / rate, 2**32 * TICK_S), rel=1e-3, abs=2 * TICK_S)
    assert (ceil_buffer, level, rank) == (buffer, 0, 0)
    assert quantum >= 1514


def test_a_rate_beyond_32_bits_of_bytes_has_an_attribute_of_its_own() -> None:
    assert set(attributes(qdisc.htb_class(rate=1e9, ceil=1e9, overhead=0, burst_bytes=1600))) == {1}
    assert set(attributes(qdisc.htb_class(rate=1e3, ceil=4e10, overhead=0, burst_bytes=1600))) == {1, 7}
    assert set(attributes(qdisc.htb_class(rate=4e10, ceil=4e10, overhead=0, burst_bytes=1600))) == {1, 6, 7}


@given(st.floats(0, 1, exclude_max=True), st.floats(0, 60), st.integers(1, 10**6))
def test_netem_says_shares_times_and_its_limit(share: float, seconds: float, limit: int) -> None:
    changed = OPTIONS | {
        "reorder": share, "duplicate": share, "corrupt": share, "delay": seconds, "jitter": seconds, "limit": limit,
    }  # fmt: skip
    packed = qdisc.netem(**changed)  # type: ignore[arg-type]
    _, packets, loss, gap, duplicate, _ = struct.unpack_from("IIIIII", packed)
    found = attributes(packed[24:])
    assert (packets, loss, gap) == (limit, 0, 1 if share else 0)
    for chance in (duplicate, struct.unpack("II", found[3])[0], struct.unpack("II", found[4])[0]):
        assert chance / 2**32 == pytest.approx(share, abs=2**-31)
    for kind in (10, 11):
        assert struct.unpack("q", found[kind])[0] / 1e9 == pytest.approx(seconds, abs=1e-8)
    assert found[2] == struct.pack("<hhh", -8192, 0, 8192)


def test_order_is_kept_by_a_rate_that_nothing_reaches() -> None:
    rates = [
        struct.unpack("IiIi", attributes(qdisc.netem(**OPTIONS | {"keep_order": keep})[24:])[6])[0]  # type: ignore[arg-type]
        for keep in (True, False)
    ]
    assert rates == [2**32 - 1, 0]


def test_a_fifo_counts_bytes_or_packets() -> None:
    assert qdisc.fifo(limit_bytes=5000) == ("bfifo", struct.pack("I", 5000))
    assert qdisc.fifo(packets=40) == ("pfifo", struct.pack("I", 40))
