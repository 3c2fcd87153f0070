"""Hosts that are cut off, in real namespaces joined by a cable."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from emulation.kernel.namespace import KernelError, prefix, run_tool, throwaway_namespace
from emulation.kernel.silence import restore, silence

pytestmark = pytest.mark.root


@pytest.fixture
def pair() -> Iterator[tuple[int, int]]:
    """Two namespaces, 10.9.9.1 on `one` and 10.9.9.2 on `other`."""
    with throwaway_namespace() as one, throwaway_namespace() as other:
        run_tool(["ip", "link", "add", "one", "type", "veth", "peer", "name", "other", "netns", str(other)], pid=one)
        for pid, name, address in ((one, "one", "10.9.9.1/24"), (other, "other", "10.9.9.2/24")):
            run_tool(["ip", "address", "add", address, "dev", name], pid=pid)
            run_tool(["ip", "link", "set", name, "up"], pid=pid)
        yield one, other


def answers(pid: int, address: str, *, within_s: float = 0.3) -> bool:
    words = [*prefix(pid), "ping", "-c1", f"-W{within_s}", address]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def test_who_is_silent_neither_answers_nor_asks_and_can_be_restored(pair: tuple[int, int]) -> None:
    one, other = pair
    assert answers(one, "10.9.9.2", within_s=20)
    before = run_tool(["ip", "address", "show", "dev", "other"], pid=other).split("inet")[1]
    for _ in range(2):
        silence(other, ["other"])
        assert not answers(one, "10.9.9.2")
        assert not answers(other, "10.9.9.1")
        assert run_tool(["ip", "address", "show", "dev", "other"], pid=other).split("inet")[1] == before
        restore(other, ["other"])
        assert answers(one, "10.9.9.2", within_s=20)


def test_what_is_silent_already_cannot_be_made_so_nor_restored_twice(pair: tuple[int, int]) -> None:
    silence(pair[1], ["other"])
    with pytest.raises(KernelError, match="blackhole"):
        silence(pair[1], ["other"])
    restore(pair[1], ["other"])
    with pytest.raises(KernelError, match="other"):
        restore(pair[1], ["other"])
