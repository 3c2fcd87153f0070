"""A capture of many connections: full-sized data one way, acknowledgements the other, one data packet in 100 lost."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from common.records import record

CONNECTIONS = 3120
CLIENT, SERVER = 0x0A000100, 0x0A640001  # the first addresses; 50 connections have one client, and 7 servers
_PAYLOAD, _HEADERS, _RECORD_BYTES = 1448, 66, 16
_RTT_NS, _GAP_NS = 8_000_000, 50_000_000
BEGIN_NS = 1_700_000_000 * 10**9
_LOSS, _REPEATED = 100, 3  # one data packet in so many is lost; acknowledgements that repeat until it comes again
_CHUNK = 50_000
_HEAD = record(("tcpsum", ">u2"), ("urgent", ">u2"), ("options", "V12"))


def write_capture(path: Path, *, packets: int, connections: int = CONNECTIONS, seed: int = 7) -> Path:
    """Write a nanosecond pcap of about `packets` packets of 790 bytes on average, in order of time."""
    head = _packets(packets, connections)
    generator = np.random.default_rng(seed)
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for start in range(0, len(head), _CHUNK):
            part = head[start : start + _CHUNK]
            sizes = _RECORD_BYTES + part["kept"].astype(np.int64)
            data = np.frombuffer(generator.bytes(int(sizes.sum())), dtype=np.uint8).copy()
            places = np.cumsum(sizes) - sizes
            data[places[:, None] + np.arange(_HEAD.itemsize)] = part.view(np.uint8).reshape(len(part), -1)
            file.write(data)
    return path


def _packets(packets: int, connections: int) -> np.ndarray:
    """Headers of all packets: per turn of a connection a data packet, its answer, and what a loss adds."""
    turns = max(packets // (2 * connections), 1)
    connection, turn = (one.ravel() for one in np.meshgrid(np.arange(connections), np.arange(turns), indexing="ij"))
    sent = BEGIN_NS + turn * _GAP_NS + connection * (_GAP_NS // connections)
    lost = (turn * 7 + connection) % _LOSS == _LOSS - 1
    # After a loss the answers stand still until the packet was sent again, _REPEATED turns later.
    since = np.where(lost, turn, -_LOSS)
    by_connection = since.reshape(connections, turns)
    last = np.maximum.accumulate(by_connection, axis=1).ravel()
    stuck = (turn - last >= 0) & (turn - last <= _REPEATED)
    acked = np.where(stuck, last, turn + 1)
    again = lost & (turn + _REPEATED < turns)
    parts = [
        _headers(connection, sent, seq=turn, ack=np.zeros_like(turn), forward=True),
        _headers(connection, sent + _RTT_NS + turn % 97 * 10_000, seq=np.zeros_like(turn), ack=acked, forward=False),
        _headers(connection[again], sent[again] + _REPEATED * _GAP_NS + _RTT_NS * 2, seq=turn[again],
                 ack=np.zeros_like(turn[again]), forward=True),
    ]  # fmt: skip
    head = np.empty(sum(map(len, parts)), dtype=_HEAD)  # np.concatenate would lose the byte order
    np.concatenate(parts, out=head)
    return head[np.argsort(head["second"].astype(np.int64) * 10**9 + head["fraction"], kind="stable")]


def _headers(
    connection: np.ndarray, t_ns: np.ndarray, *, seq: np.ndarray, ack: np.ndarray, forward: bool
) -> np.ndarray:
    head = np.zeros(len(connection), dtype=_HEAD)
    head["second"], head["fraction"] = t_ns // 10**9, t_ns % 10**9
    payload = _PAYLOAD if forward else 0
    head["kept"] = head["wire"] = _HEADERS + payload
    head["ethertype"], head["version"], head["ttl"], head["protocol"] = 0x0800, 0x45, 64, 6
    head["length"] = _HEADERS - 14 + payload
    client, server = CLIENT + connection // 50, SERVER + connection % 7
    ports = 40000 + connection % 20000, np.full(len(connection), 443)
    ends = ("src", "dst", "sport", "dport") if forward else ("dst", "src", "dport", "sport")
    for name, column in zip(ends, (client, server, *ports), strict=True):
        head[name] = column
    # Some flows pass the end of the sequence numbers.
    begin = np.where(connection % 10 == 0, 2**32 - 20_000, connection * 1000)
    head["seq"] = (begin + seq * _PAYLOAD) % 2**32 if forward else 1
    head["ack"] = 1 if forward else (begin + ack * _PAYLOAD) % 2**32
    head["offset"], head["flags"], head["window"] = 0x80, 0x10, 512
    head["options"] = np.void(b"\x01" * 12)
    return head
