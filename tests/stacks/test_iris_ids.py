"""Identifiers and the routing table: what they are, and that every key is found."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stacks.iris.ids import BASE, BITS, DIGITS, SPACE, clockwise, digit, distance, id_of, nearest, shared, written
from stacks.iris.table import ABOVE, BELOW, Table

IDS = st.integers(0, SPACE - 1)
SETS = st.lists(IDS, min_size=1, max_size=60, unique=True)


def closest_tables(ids: list[int]) -> dict[int, Table]:
    """Every node with a table that has heard of every other, in an order of its own."""
    tables = {}
    for own in ids:
        tables[own] = Table(own)
        others = [one for one in ids if one != own]
        Random(own).shuffle(others)
        for other in others:
            tables[own].add(other)
    return tables


def route(tables: dict[int, Table], start: int, key: int) -> list[int]:
    path = [start]
    while (hop := tables[path[-1]].next_hop(key)) is not None:
        assert hop not in path, "it goes in a circle"
        path.append(hop)
    return path


def test_a_name_has_the_first_five_bytes_of_its_md5() -> None:
    assert written(id_of("")) == "d41d8cd98f"  # RFC 1321, A.5
    assert written(id_of("abc")) == "900150983c"


@given(IDS, IDS)
def test_distance_is_the_shorter_way_round(one: int, other: int) -> None:
    assert distance(one, other) == distance(other, one) == min(clockwise(one, other), clockwise(other, one))
    assert distance(one, one) == 0
    assert distance(one, (one + SPACE // 2) % SPACE) == SPACE // 2


@given(IDS, IDS)
def test_shared_digits_are_those_before_the_first_that_differs(one: int, other: int) -> None:
    text, second = written(one), written(other)
    assert shared(one, other) == next((at for at in range(DIGITS) if text[at] != second[at]), DIGITS)
    assert [digit(one, row) for row in range(DIGITS)] == [int(letter, BASE) for letter in text]


def test_so_many_nodes_rarely_have_one_identifier_twice() -> None:
    """Szilágyi (2014), section 4.1, for 10,000 nodes."""
    assert 1 - math.exp(-(10_000**2) / (2 * 2**BITS)) == pytest.approx(4.5483e-5, rel=1e-3)


@given(SETS)
def test_leaves_are_the_closest_nodes_on_either_side(ids: list[int]) -> None:
    for own, table in closest_tables(ids).items():
        around = sorted((one for one in ids if one != own), key=lambda one: clockwise(own, one))
        assert table.leaves == {*around[:ABOVE], *around[::-1][:BELOW]}


@given(SETS)
def test_cells_hold_nodes_that_belong_there(ids: list[int]) -> None:
    for own, table in closest_tables(ids).items():
        for row in range(DIGITS):
            for column in range(BASE):
                there = [one for one in ids if one != own and shared(one, own) == row and digit(one, row) == column]
                assert table.cell(row, column) in (there or [None])


@given(SETS, st.lists(IDS, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_every_key_is_routed_to_the_closest_node_in_few_hops(ids: list[int], keys: list[int], draw: Random) -> None:
    tables = closest_tables(ids)
    for key in keys:
        path = route(tables, draw.choice(ids), key)
        assert path[-1] == nearest(ids, key)
        assert len(path) - 1 <= DIGITS + 1


@given(SETS, st.randoms(use_true_random=False), IDS)
def test_what_nodes_forget_is_as_if_it_had_never_been(ids: list[int], draw: Random, key: int) -> None:
    gone = set(draw.sample(ids, len(ids) // 3))
    left = [one for one in ids if one not in gone]
    tables = closest_tables(ids)
    for own in left:
        before, those = tables[own].version, gone & tables[own].known
        for one in those:
            assert tables[own].remove(one)
        assert tables[own].version > before or not those
        for other in left:  # what its neighbours tell it of
            tables[own].add(other)
    assert route(tables, draw.choice(left), key)[-1] == nearest(left, key)


@given(SETS, IDS)
def test_a_node_is_kept_only_where_it_is_wanted_and_the_version_tells(ids: list[int], other: int) -> None:
    table = Table(ids[0])
    for one in (*ids[1:], other, ids[0]):
        wanted, before = table.wants(one), table.version
        assert table.add(one) == (wanted or one in table.known)
        assert (table.version > before) == wanted
    assert ids[0] not in table.known
    assert not table.remove(ids[0])
