"""The codec alone: how many packets one core writes and reads."""

from __future__ import annotations

import time

from stacks.mqtt.decoder import Decoder
from stacks.mqtt.packets import Head, Version, publish

_PACKETS = 50_000
_CHUNK = 65_536


def packets_per_s(version: Version, *, body_bytes: int) -> float:
    """PUBLISH packets of QoS 0 for a second of processor time, each written and read."""
    head, body, decoder = Head("topic", 0, version), bytes(body_bytes), Decoder(version)
    before = time.process_time()
    written = [publish(head, body) for _ in range(_PACKETS)]
    used = time.process_time() - before
    stream = b"".join(written)
    chunks = [stream[at : at + _CHUNK] for at in range(0, len(stream), _CHUNK)]
    before = time.process_time()
    read = [message.body for chunk in chunks for message in decoder.feed(chunk)]
    used += time.process_time() - before
    assert read == [body] * _PACKETS
    return _PACKETS / used
