"""Keys that Spark's partitioning by hash puts into partitions of their own.

`repartition(n, column)` puts a row into partition pmod(Murmur3(value), n): of n different values some share one, and
more than a third of all partitions stay empty (1 / e).  So values are looked for that do not.
"""

from __future__ import annotations

_SEED = 42  # of Spark's hash expression
_WORD = 0xFFFFFFFF


def keys(count: int) -> list[int]:
    """Integers, the k-th of which `repartition(count, column of type int)` puts into partition k."""
    found: dict[int, int] = {}
    value = 0
    while len(found) < count:
        found.setdefault(_hash(value) % count, value)
        value += 1
    return [found[partition] for partition in range(count)]


def _hash(value: int) -> int:
    """Spark's hash of an int from 0 on, signed: Murmur3 (x86, 32 bits) of one word of four bytes."""
    word = _turned(value * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
    mixed = (_turned(_SEED ^ word, 13) * 5 + 0xE6546B64) & _WORD
    mixed ^= 4
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & _WORD
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & _WORD
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD
