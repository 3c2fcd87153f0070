"""Identifiers of nodes and groups: 40 bits, on a circle, read as ten digits of four bits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

BITS, DIGIT_BITS = 40, 4
DIGITS = BITS // DIGIT_BITS
BASE = 1 << DIGIT_BITS
SPACE = 1 << BITS
BYTES = BITS // 8


def id_of(name: str) -> int:
    """The identifier of a name: the first five bytes of its MD5."""
    return int.from_bytes(hashlib.md5(name.encode(), usedforsecurity=False).digest()[:BYTES], "big")


def digit(identifier: int, row: int) -> int:
    """A digit, counted from the most significant one, which is number 0."""
    return identifier >> (BITS - DIGIT_BITS * (row + 1)) & (BASE - 1)


def shared(one: int, other: int) -> int:
    """How many leading digits two identifiers have in common."""
    return (BITS - (one ^ other).bit_length()) // DIGIT_BITS


def clockwise(start: int, end: int) -> int:
    """How far it is from one identifier upwards to another."""
    return (end - start) % SPACE


def distance(one: int, other: int) -> int:
    """The shortest way between two identifiers on the circle."""
    up = (other - one) % SPACE
    return min(up, SPACE - up)


def nearest(identifiers: Iterable[int], key: int) -> int:
    """The identifier that is numerically closest to a key; of two that are equally far, the smaller one."""
    return min(identifiers, key=lambda one: (distance(one, key), one))


def written(identifier: int) -> str:
    """As logs show it."""
    return f"{identifier:010x}"
