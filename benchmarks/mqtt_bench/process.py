"""A client's process, and its owner's hold on it: it says when it is ready, and what it has done when it is asked."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from emulation.kernel.namespace import prefix
from mqtt_bench.libraries import LIBRARIES, Count, Plan

_READY_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What was done in a second: messages, and processor time, which is a share of one core."""

    messages: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A moment of CLOCK_MONOTONIC, in seconds; messages and processor time so far."""

    at_s: float
    cpu_s: float
    messages: int = 0

    def since(self, before: Look) -> Pace:
        """How fast it went between two moments."""
        lasted = self.at_s - before.at_s
        return Pace(messages=(self.messages - before.messages) / lasted, share=(self.cpu_s - before.cpu_s) / lasted)


def run(text: str) -> None:
    """Be the client of a plan until standard input ends."""
    plan = Plan(**json.loads(text))
    count = Count(ready=lambda: _say({"ready": True}))
    threading.Thread(target=_listen, args=(count,), daemon=True).start()
    LIBRARIES[plan.library](plan, count)


def _listen(count: Count) -> None:
    for word in sys.stdin:
        if word.strip() == "go":
            count.go.set()
        else:
            _say(asdict(Look(at_s=time.monotonic(), messages=count.messages, cpu_s=time.process_time())))
    os._exit(0)


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


class Client:
    """A client that has been started; `started` makes it ready."""

    def __init__(self, plan: Plan, process: subprocess.Popen[str]) -> None:
        self.plan, self._process = plan, process

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def go(self) -> None:
        """Let it send."""
        self._tell("go")

    def look(self) -> Look:
        """What it has done until now."""
        self._tell("look")
        return Look(**self.heard())

    def heard(self) -> dict[str, Any]:
        """Its next answer; RuntimeError when it has none."""
        assert self._process.stdout
        who = f"the {self.plan.role} of {self.plan.library}"
        if not select.select([self._process.stdout], [], [], _READY_S)[0]:
            raise RuntimeError(f"{who} has not answered for {_READY_S:g} s")
        if not (line := self._process.stdout.readline()):
            raise RuntimeError(f"{who} has ended with status {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _tell(self, word: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()


@contextmanager
def started(plan: Plan, node: int, program: str) -> Iterator[Client]:
    """A client that is ready, in the network namespace of process `node`; it ends with the block.

    program: what runs it, with --client.
    """
    words = [*prefix(node), sys.executable, program, "--client", json.dumps(asdict(plan))]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            client = Client(plan, process)
            client.heard()
            yield client
        finally:
            process.kill()
