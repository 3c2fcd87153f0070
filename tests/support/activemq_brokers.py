"""A real ActiveMQ, deployed by the lab's own playbooks into a throwaway network namespace."""

import asyncio
import os
import select
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from service_ends import ending_with_us

from emulation.kernel.namespace import in_namespace, throwaway_namespace
from experiments.deploy import Action, RoleCall, Target, apply, service_folder, service_pid
from stacks.driver import Endpoint

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """An ActiveMQ in the namespace of process `namespace`.  at: STOMP; openwire: the same broker's other port."""

    namespace: int
    scratch: Path
    at: Endpoint
    openwire: Endpoint
    variables: Mapping[str, str] = field(default_factory=dict)

    def do(self, *actions: Action) -> None:
        ports = {"activemq_port": self.at.port, "activemq_openwire_port": self.openwire.port}
        role = RoleCall(role="activemq", variables={**ports, **self.variables})
        target = Target(name="broker", address=self.at.host, pid=self.namespace, roles=(role,))
        apply(actions, [target], scratch=self.scratch, timeout_s=300)

    def pid(self) -> int:
        return service_pid(scratch=self.scratch, target="broker", name="activemq")

    def kill(self) -> None:
        """End the broker without warning, and wait until it is gone."""
        handle = os.pidfd_open(self.pid())
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            _wait(handle)
        finally:
            os.close(handle)

    def log(self) -> str:
        return (service_folder(scratch=self.scratch, target="broker", name="activemq") / "log").read_text()

    def run(self, talk: Callable[[], Awaitable[T]], *, limit_s: float = 300) -> T:
        """Run a coroutine in the broker's namespace."""

        async def limited() -> T:
            async with asyncio.timeout(limit_s):
                return await talk()

        return in_namespace(self.namespace, lambda: asyncio.run(limited()))


@contextmanager
def running_broker(scratch: Path, **variables: str) -> Iterator[Broker]:
    """A broker that runs for the block.  variables: of its role."""
    with throwaway_namespace() as namespace, ending_with_us(scratch):
        at, openwire = (Endpoint(host="127.0.0.1", port=port) for port in (61613, 61616))
        broker = Broker(namespace=namespace, scratch=scratch, at=at, openwire=openwire, variables=variables)
        broker.do("install", "configure", "start")
        yield broker


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds; the caller limits the time."""
    while not condition():
        await asyncio.sleep(0.005)


async def quiet(items: Sequence[object], *, least: int = 0, for_s: float = 0.3) -> None:
    """Wait until there are at least so many, and then until nothing more was added for a while."""
    await until(lambda: len(items) >= least)
    before = -1
    while before != len(items):
        before = len(items)
        await asyncio.sleep(for_s)


def _wait(handle: int) -> None:
    assert select.select([handle], [], [], 60)[0], "the broker does not end"
