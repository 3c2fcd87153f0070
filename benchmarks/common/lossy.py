"""A large capture with known losses, made by arithmetic: many connections, each with lost and repeated segments."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from common.records import record

SNAP, WIRE, EMPTY_WIRE = 66, 1448 + 66, 66  # a full segment and an empty acknowledgement: some 800 bytes on average
_PAYLOAD = WIRE - EMPTY_WIRE
_FILE = np.dtype([("magic", "<u4"), ("version", "<u2", 2), ("zone", "<u4", 2), ("snap", "<u4"), ("link", "<u4")])
_RECORD = record(("rest", "V16"))
_T0 = 1_700_000_000 * 10**9
_RTT_NS, _GAP_NS = 20_000_000, 400_000


def write_lossy_capture(path: Path, *, packets: int, connections: int, loss: float, seed: int) -> int:
    """Write about `packets` packets of so many connections; return how many segments were repeated.

    Every segment is acknowledged, and repeated when it is lost.
    """
    rng = np.random.default_rng(seed)
    each = packets // connections // 2
    shape = (connections, each)
    sent = _T0 + rng.integers(0, 60 * 10**9, (connections, 1)) + np.arange(each) * _GAP_NS
    sent = sent + rng.integers(0, _GAP_NS // 2, shape)
    lost = rng.random(shape) < loss
    lost[:, 0] = False
    again = sent + _RTT_NS + 3 * _GAP_NS
    arrival = np.where(lost, again, sent) + _RTT_NS // 2
    number = np.broadcast_to(np.arange(each), shape)
    acked = _cumulative(arrival)
    rows = np.zeros(sent.size + int(lost.sum()) + arrival.size, dtype=_RECORD)
    which = np.broadcast_to(np.arange(connections)[:, None], shape)
    base = rng.integers(0, 2**32, (2, connections))
    parts = [
        (sent.ravel(), which.ravel(), number.ravel(), False), (again[lost], which[lost], number[lost], False),
        (arrival.ravel() + _RTT_NS // 2, which.ravel(), acked.ravel(), True),
    ]  # fmt: skip
    t_ns = np.concatenate([part[0] for part in parts])
    start = 0
    for times, connection, count, answer in parts:
        _fill(rows[start : start + len(times)], connection=connection, count=count, answer=answer, base=base)
        start += len(times)
    rows["second"], rows["fraction"] = t_ns // 10**9, t_ns % 10**9
    header = np.array([(0xA1B23C4D, (2, 4), (0, 0), SNAP, 1)], dtype=_FILE)
    path.write_bytes(header.tobytes() + rows[np.argsort(t_ns, kind="stable")].tobytes())
    return int(lost.sum())


def _cumulative(arrival: np.ndarray) -> np.ndarray:
    """Number of segments that are there without a gap when each arrives."""
    ready = np.maximum.accumulate(arrival, axis=1)
    lane = np.arange(len(arrival))[:, None] * np.int64(10**13)
    flat = (ready - _T0 + lane).ravel()
    found = np.searchsorted(flat, (arrival - _T0 + lane).ravel(), side="right").reshape(arrival.shape)
    return found - np.arange(len(arrival))[:, None] * arrival.shape[1]


def _fill(rows: np.ndarray, *, connection: np.ndarray, count: np.ndarray, answer: bool, base: np.ndarray) -> None:
    payload = 0 if answer else _PAYLOAD
    place = base[0][connection] + count * _PAYLOAD
    rows["kept"], rows["wire"], rows["length"] = SNAP, EMPTY_WIRE + payload, 52 + payload
    client, server = 0x0A000002 + connection // 1000, 0x0A0A0001
    ports = 20000 + connection % 1000
    rows["src"], rows["dst"] = (server, client) if answer else (client, server)
    rows["sport"], rows["dport"] = (5672, ports) if answer else (ports, 5672)
    rows["seq"] = base[1][connection] if answer else place % 2**32
    rows["ack"] = place % 2**32 if answer else base[1][connection]
    rows["ethertype"], rows["version"], rows["ttl"], rows["protocol"] = 0x0800, 0x45, 64, 6
    rows["offset"], rows["flags"], rows["window"] = 0x80, 0x10, 512
