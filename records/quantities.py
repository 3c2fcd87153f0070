"""Quantities as people write them: `1 Mbit/s`, `20 ms`, `3 %`."""

from __future__ import annotations

import re

_NUMBER = r"\s*([0-9]*\.?[0-9]+)\s*"
_RATES = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_SHARES = {"%": 0.01}


def parse_rate(value: object) -> object:
    """`1 Mbit/s` to bit/s; numbers pass through."""
    return _with_unit(value, _RATES, "a rate such as '1 Mbit/s' or a number of bit/s")


def parse_time(value: object) -> object:
    """`20 ms` to seconds; numbers pass through."""
    return _with_unit(value, _TIMES, "a time such as '20 ms' or a number of seconds")


def parse_share(value: object) -> object:
    """`3 %` to 0.03; numbers pass through."""
    return _with_unit(value, _SHARES, "a share such as '3 %' or a number from 0 to 1")


def rate(bit_s: float) -> str:
    """The reverse of `parse_rate`, to six digits: `77.5787 Mbit/s`."""
    return _said(bit_s, _RATES)


def time(seconds: float) -> str:
    """The reverse of `parse_time`, to six digits: `20.08 ms`."""
    return _said(seconds, _TIMES)


def share(part: float) -> str:
    """The reverse of `parse_share`, to six digits: `3 %`."""
    return _said(part, _SHARES)


def _said(value: float, units: dict[str, float]) -> str:
    """In the largest unit that is not larger than the value, else in the smallest."""
    descending = sorted(units, key=units.__getitem__, reverse=True)
    name = next((one for one in descending if units[one] <= abs(value)), descending[-1])
    return f"{value / units[name]:.6g} {name}"


def _with_unit(value: object, units: dict[str, float], what: str) -> object:
    if not isinstance(value, str):
        return value
    match = re.fullmatch(_NUMBER + "(" + "|".join(map(re.escape, units)) + r")\s*", value)
    if match is None:
        raise ValueError(f"{value!r} is not {what}")
    # Decimal shifts of short decimals: 3 % is 0.03 and not 0.030000000000000002.
    return float(f"{float(match[1]) * units[match[2]]:.12g}")
