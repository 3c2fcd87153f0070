"""How far a message's body reaches in the packets, by its JMS type, from the first byte of its marker on."""

from __future__ import annotations

import numpy as np

from records import marker

_LONG, _TYPE, _NAME, _LENGTH = 8, 1, 2, 4  # bytes: a long, a field's type, a name's length, a byte array's length
_REST = len("rest")


def extents(
    body_type: str, body_bytes: np.ndarray, *, producer: np.ndarray, seq: np.ndarray, t_send_ns: np.ndarray
) -> np.ndarray:
    """Bytes from a marker's first to its body's last, one per message; body_bytes is what the publisher handed over.

    Bytes and Object bodies stand as they are.  Stream and Map bodies are a byte array of 24, then longs, then a byte
    array of what is left, with types, and in maps names, between them.  Text is encoded, see `marker.encoded_bytes`
    (what follows the marker is plain letters).
    """
    if body_type == "text":
        heads = marker.encoded_bytes(producer=producer, seq=seq, t_send_ns=t_send_ns)
        text: np.ndarray = body_bytes - marker.SIZE + heads
        return text
    if body_type not in ("stream", "map"):
        return body_bytes
    behind = np.maximum(body_bytes - marker.SIZE, 0)
    longs, rest = behind // _LONG, behind % _LONG
    field = _LONG + _TYPE
    last = np.where(rest > 0, _TYPE + _LENGTH + rest, 0)
    if body_type == "map":
        last += np.where(rest > 0, _NAME + _REST, 0)
        digits = sum(np.maximum(longs - (10**power - 1), 0) for power in range(8))  # of the names 1, 2, 3 ...
        last += longs * _NAME + digits
    found: np.ndarray = np.minimum(body_bytes, marker.SIZE) + longs * field + last
    return found
