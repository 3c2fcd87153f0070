"""Times of packets: units of an interface's resolution to nanoseconds since 1970, exactly, rounded down."""

from __future__ import annotations

import numpy as np

from analysis.capture.format import Interface

_LAST_NS = (1 << 63) - 1
_NS = 1_000_000_000
_LOW = np.uint64(0xFFFFFFFF)


def nanoseconds(units: np.ndarray, interface: Interface) -> tuple[np.ndarray, np.ndarray]:
    """Times in ns (int64) of `units` (uint64), and which of them an int64 of ns cannot hold (those are 0)."""
    if interface.base == 10:
        found, bad = _decimal(units, interface.exponent)
    else:
        found, bad = _binary(units, interface.exponent)
    t_ns = np.where(bad, np.uint64(0), found).astype(np.int64)
    if interface.offset_s:
        t_ns, far = _moved(t_ns, interface.offset_s)
        bad = bad | far
    return t_ns, bad


def _decimal(units: np.ndarray, exponent: int) -> tuple[np.ndarray, np.ndarray]:
    if exponent > 9:
        if exponent > 28:  # a unit of 10**-29 s: 64 bits of them are no nanosecond
            return np.zeros_like(units), np.zeros(len(units), dtype=bool)
        return units // np.uint64(10 ** (exponent - 9)), np.zeros(len(units), dtype=bool)
    scale = 10 ** (9 - exponent)
    return units * np.uint64(scale), units > np.uint64(_LAST_NS // scale)


def _binary(units: np.ndarray, exponent: int) -> tuple[np.ndarray, np.ndarray]:
    whole = units >> np.uint64(exponent) if exponent < 64 else np.zeros_like(units)
    part = units - (whole << np.uint64(exponent)) if exponent < 64 else units
    # part * 10**9 has up to 94 bits: it is taken in two halves.
    high = (part >> np.uint64(32)) * np.uint64(_NS) + ((part & _LOW) * np.uint64(_NS) >> np.uint64(32))
    if exponent >= 32:
        fraction = high >> np.uint64(exponent - 32) if exponent - 32 < 64 else np.zeros_like(units)
    else:
        fraction = part * np.uint64(_NS) >> np.uint64(exponent)
    bad = whole >= np.uint64(_LAST_NS // _NS)
    return whole * np.uint64(_NS) + fraction, bad


def _moved(t_ns: np.ndarray, offset_s: int) -> tuple[np.ndarray, np.ndarray]:
    if abs(offset_s) > _LAST_NS // _NS:
        return np.zeros_like(t_ns), np.ones(len(t_ns), dtype=bool)
    move = offset_s * _NS
    far = t_ns > _LAST_NS - move if move > 0 else np.zeros(len(t_ns), dtype=bool)
    return np.where(far, 0, t_ns + np.int64(move)), far
