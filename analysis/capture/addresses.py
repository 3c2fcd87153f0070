"""Addresses as 64-bit numbers: IPv4 as its own number, IPv6 as a negative hash whose address is kept beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address

import numpy as np

_MASK = np.uint64((1 << 62) - 1)


class AddressCollision(ValueError):
    """Two IPv6 addresses have one number; the message names them.  Nothing is counted under a mixed name."""


def text(number: int, v6: Mapping[int, bytes]) -> str:
    """An address as people write it; KeyError when it is an IPv6 address that `v6` does not know."""
    return str(IPv4Address(number)) if number >= 0 else str(IPv6Address(v6[number]))


def texts(numbers: np.ndarray, v6: Mapping[int, bytes]) -> list[str]:
    """The same of many."""
    return [text(number, v6) for number in numbers.tolist()]


def number_v6(halves: np.ndarray) -> np.ndarray:
    """Numbers in [-2**62, -1] of IPv6 addresses, given as rows of two uint64, high half first."""
    mixed = _mix(halves[:, 0]) + halves[:, 1] * np.uint64(0x9E3779B97F4A7C15)
    found: np.ndarray = -1 - (_mix(mixed) & _MASK).astype(np.int64)
    return found


def _mix(value: np.ndarray) -> np.ndarray:
    """SplitMix64's finisher (Steele, Lea and Flood, OOPSLA 2014): every bit of 64 depends on every other."""
    value = (value ^ value >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ value >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    found: np.ndarray = value ^ value >> np.uint64(31)
    return found


def register(numbers: np.ndarray, halves: np.ndarray, v6: dict[int, bytes]) -> None:
    """Note in `v6` whose numbers these are; AddressCollision when one is already another address's."""
    kinds, first = np.unique(numbers, return_index=True)
    same = halves[first][np.searchsorted(kinds, numbers)]
    differs = np.flatnonzero((same != halves).any(axis=1))
    if len(differs):
        row = differs[0]
        raise _collision(_bytes(same[row]), _bytes(halves[row]))
    merge([v6, {int(kinds[k]): _bytes(halves[first[k]]) for k in range(len(kinds))}], into=v6)


def merge(parts: Iterable[Mapping[int, bytes]], *, into: dict[int, bytes] | None = None) -> dict[int, bytes]:
    """The addresses of several captures or ranges together; AddressCollision when they contradict."""
    found = {} if into is None else into
    for part in parts:
        for number, address in part.items():
            if found.setdefault(number, address) != address:
                raise _collision(found[number], address)
    return found


def _bytes(halves: np.ndarray) -> bytes:
    return halves.astype(">u8").tobytes()


def _collision(one: bytes, other: bytes) -> AddressCollision:
    return AddressCollision(
        f"{IPv6Address(one)} and {IPv6Address(other)} hash to one number; split the capture by either of them"
    )
