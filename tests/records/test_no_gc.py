"""Garbage collections: off while a context lasts, and on again behind it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from records import no_gc


class Circle:
    def __init__(self) -> None:
        self.itself = self


@contextmanager
def collections() -> Iterator[list[int]]:
    """The generations that are collected while the context lasts."""
    found: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            found.append(info["generation"])

    gc.callbacks.append(note)
    try:
        yield found
    finally:
        gc.callbacks.remove(note)


def allocate() -> None:
    """More circles than any generation waits for."""
    for _ in range(200_000):
        Circle()


def test_nothing_is_collected_while_the_context_lasts_and_afterwards_it_is() -> None:
    with collections() as found:
        allocate()
        assert found, "otherwise this test shows nothing"
        with no_gc.paused():
            found.clear()
            allocate()
            assert found == []
        allocate()
        assert found


def test_an_inner_context_does_not_end_an_outer_one() -> None:
    with no_gc.paused():
        with no_gc.paused():
            pass
        assert not gc.isenabled()
        assert gc.get_freeze_count() > 0
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_collections_are_on_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="it"), no_gc.paused():
        raise ValueError("it")
    assert gc.isenabled()


def test_a_sweep_frees_new_circles_and_leaves_the_rest_of_the_heap_alone() -> None:
    with no_gc.paused(), collections() as found:
        circle = Circle()
        gone = weakref.ref(circle)
        del circle
        assert gone() is not None
        no_gc.sweep()
        assert gone() is None
        assert found == [0]
