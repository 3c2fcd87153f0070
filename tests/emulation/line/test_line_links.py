"""Several links in one loop: each is as it is alone, to the nanosecond, whatever the others do, come or go."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any

import pytest
from emulated_links import profile

from emulation.line.air import NEVER
from emulation.line.alarm import Events
from emulation.line.layout import Line
from emulation.line.loop import Carried, Loop
from emulation.plan import linkplan

US, MS = 10**3, 10**6
MACS = {"sta1": bytes([2, 0, 0, 0, 0, 1]), "sta2": bytes([2, 0, 0, 0, 0, 2])}
SERVER = bytes([2, 0, 0, 0, 0, 9])
BEAT_NS = 5 * MS
Out = list[tuple[int, int, bytes]]  # when it came out (ns), of which port, and what

CHANCES: dict[str, Any] = {
    "rate": 2e6, "delay": 0.01, "jitter": 0.004, "keep_order": False, "duplicate": 0.1, "corrupt": 0.1, "reorder": 0.1,
    "loss": {"model": "gilbert-elliott", "p": 0.05, "r": 0.3},
    "timeline": [{"at": 0.05, "outage": 0.02}, {"at": 0.1, "change": {"rate": 5e5}}],
}  # fmt: skip


class Port:
    """What a link's port is in the place of a device: the line's end of it, and the kernel's."""

    def __init__(self) -> None:
        self.mine, self.kernels = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        for end in (self.mine, self.kernels):
            end.setblocking(False)

    def close(self) -> None:
        self.mine.close()
        self.kernels.close()


class World:
    """A loop whose clock stands still but for its sleep, as its own alarm.  Things happen at moments, in ns."""

    woke_ns = wakes = 0

    def __init__(self) -> None:
        self.now_ns = 0
        self.out: dict[str, Out] = {}
        self.loop = Loop(self, -1, lambda: False, lambda: self.now_ns)  # type: ignore[arg-type]
        self._ports: dict[str, list[Port]] = {}
        self._happening: list[tuple[int, Callable[[], object]]] = []
        self._watched: set[int] = set()

    def add(self, name: str, *, seed: int = 1, **settings: Any) -> Carried:
        """A link whose timeline begins now."""
        plan = linkplan.plan(profile(**settings), list(MACS), seed=seed, seconds=5, timeline_s=5, made_by="line")
        self._ports[name] = [Port() for _ in range(len(MACS) + 1)]
        self.out[name] = []
        link = Carried(name, Line(plan, MACS), [port.mine.fileno() for port in self._ports[name]])
        self.loop.add(link)
        link.start(self.now_ns)
        return link

    def send(self, name: str, *, frames: int, every_ns: int, start_ns: int = 0) -> None:
        """Have frames come, up and down in turn, from and to both stations."""
        for number in range(frames):
            station = number // 2 % 2
            here, there = list(MACS.values())[station], SERVER
            port, addresses = (station + 1, there + here) if number % 2 else (0, here + there)
            frame = addresses + b"\x08\0" + number.to_bytes(4, "big") + bytes(180)
            self.at(start_ns + number * every_ns, lambda port=port, frame=frame: self._come(name, port, frame))  # type: ignore[misc]

    def at(self, moment_ns: int, act: Callable[[], object]) -> None:
        """Have something happen."""
        self._happening.append((moment_ns, act))
        self._happening.sort(key=lambda one: one[0])

    def run(self) -> dict[str, Out]:
        """Until nothing more happens; what came out, by link."""
        try:
            self.loop.run()
        finally:
            for ports in self._ports.values():
                for port in ports:
                    port.close()
        return self.out

    def watch(self, handle: int) -> None:
        """As an alarm does."""
        self._watched.add(handle)

    def forget(self, handle: int) -> None:
        """As an alarm does."""
        self._watched.remove(handle)

    def wait(self, due_ns: int, beat_ns: int) -> Events:
        """As an alarm does; nothing wakes it early."""
        self._collect()
        then = min(due_ns, self._happening[0][0] if self._happening else NEVER)
        if then == NEVER:
            return [(-1, 0)]
        self.now_ns = max(self.now_ns, min(then, beat_ns))
        while self._happening and self._happening[0][0] <= self.now_ns:
            self._happening.pop(0)[1]()
        return [(handle, 0) for handle in sorted(self._watched) if _readable(handle)]

    def _come(self, name: str, port: int, frame: bytes) -> None:
        if name in self._ports:
            self._ports[name][port].kernels.send(frame)

    def _collect(self) -> None:
        for name, ports in self._ports.items():
            for number, port in enumerate(ports):
                while data := _received(port.kernels):
                    self.out[name].append((self.now_ns, number, data))


def _received(end: socket.socket) -> bytes:
    try:
        return end.recv(2000)
    except BlockingIOError:
        return b""


def _readable(handle: int) -> bool:
    with socket.socket(fileno=os.dup(handle)) as end:
        try:
            return bool(end.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return False


def alone(seed: int, *, every_ns: int, frames: int = 300, **settings: Any) -> Out:
    world = World()
    world.add("link", seed=seed, **settings)
    world.send("link", frames=frames, every_ns=every_ns)
    return world.run()["link"]


@pytest.mark.parametrize(
    ("seed", "other"),
    [(1, CHANCES), (7, {"rate": 1e6, "delay": 0.002, "loss": 0.2, "medium": "shared"})],
    ids=["the same", "another"],
)
def test_two_links_in_one_loop_are_each_as_alone(seed: int, other: dict[str, Any]) -> None:
    """Of the same seed, too: nothing that is drawn or counted is shared."""
    world = World()
    world.add("one", **CHANCES)
    world.add("two", seed=seed, **other)
    world.send("one", frames=300, every_ns=700 * US)
    world.send("two", frames=300, every_ns=900 * US)
    found = world.run()
    assert found["one"] == alone(1, every_ns=700 * US, **CHANCES)
    assert found["two"] == alone(seed, every_ns=900 * US, **other)
    for out in found.values():
        assert 100 < len(out) < 330
        assert {port for _, port, _ in out} == {0, 1, 2}


def test_a_link_that_comes_and_goes_moves_nothing_of_another() -> None:
    world = World()
    world.add("one", **CHANCES)
    world.send("one", frames=300, every_ns=700 * US)
    world.send("passing", frames=100, every_ns=500 * US, start_ns=41 * MS)
    passing: list[Carried] = []
    world.at(40 * MS, lambda: passing.append(world.add("passing", rate=5e5)))
    world.at(60 * MS, lambda: world.loop.remove(passing[0]))
    found = world.run()
    assert found["one"] == alone(1, every_ns=700 * US, **CHANCES)
    assert found["passing"]
    assert max(moment for moment, _, _ in found["passing"]) < 60 * MS, "what waits in a link goes with it"
    assert passing[0].line.medium.due() < NEVER, "something did wait"


def test_a_link_that_was_removed_may_be_added_again_and_begins_anew() -> None:
    world = World()
    first = world.add("first", **CHANCES)
    world.send("first", frames=100, every_ns=700 * US)
    world.at(200 * MS, lambda: world.loop.remove(first))
    world.at(200 * MS, lambda: world.add("again", **CHANCES))
    world.send("again", frames=100, every_ns=700 * US, start_ns=200 * MS)
    found = world.run()
    shifted = [(moment - 200 * MS, port, data) for moment, port, data in found["again"]]
    assert shifted == found["first"] != []


def test_lateness_and_beats_are_the_loops_whatever_number_of_links_it_has() -> None:
    world = World()
    for name in ("one", "two", "three"):
        world.add(name, rate=2e6)
        world.send(name, frames=100, every_ns=MS)
    out = world.run()
    late, beats = world.loop.late.taken(), world.loop.beats.taken()
    assert sum(count for _, count in late[0]) == sum(map(len, out.values())) == 300
    assert sum(count for _, count in beats[0]) == world.now_ns // BEAT_NS
    assert (late[1], beats[1]) == (0, 0)


def test_counters_are_each_links() -> None:
    world = World()
    links = [world.add(name, rate=2e6, loss=0.5) for name in ("one", "two")]
    world.send("two", frames=40, every_ns=MS)
    world.at(100 * MS, lambda: None)
    world.run()
    assert [sum(link.tally.read) for link in links] == [0, 40]
    assert [sum(one.seen for one in link.line.lists.values()) for link in links] == [0, 40]


def test_a_stall_of_one_loop_is_late_for_all_of_its_links() -> None:
    world = World()
    for name in ("one", "two"):
        world.add(name, rate=2e6)
        world.send(name, frames=2, every_ns=MS)

    def stall() -> None:
        world.now_ns += 20 * MS

    world.at(MS + MS // 2, stall)
    out = world.run()
    assert {name: len(came) for name, came in out.items()} == {"one": 2, "two": 2}
    late, beats = world.loop.late.taken(), world.loop.beats.taken()
    assert late[1] > 15 * MS
    assert beats[1] > 10 * MS
