"""Any stack's services, deployed by the lab's own playbooks into a throwaway network namespace."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from service_ends import ending_with_us

from emulation.kernel.namespace import in_namespace, throwaway_namespace
from experiments.deploy import Target, apply, certify, role_call
from stacks.driver import Endpoint, Stack

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """Services in the namespace of process `namespace`, on its loopback."""

    namespace: int
    services: tuple[Endpoint, ...]

    def run(self, talk: Callable[[], Awaitable[T]], *, limit_s: float = 120) -> T:
        """Run a coroutine beside them."""

        async def limited() -> T:
            async with asyncio.timeout(limit_s):
                return await talk()

        return in_namespace(self.namespace, lambda: asyncio.run(limited()))


@contextmanager
def deployed(stack: Stack, scratch: Path) -> Iterator[Deployed]:
    """A stack's services that run for the block."""
    with throwaway_namespace() as namespace, ending_with_us(scratch):
        services = stack.services()
        roles = tuple(role_call(one) for one in services)
        target = Target(name="server", address="127.0.0.1", pid=namespace, roles=roles)
        authority = certify((("server", "127.0.0.1", one) for one in services), scratch=scratch)
        apply(["install", "configure", "start"], [target], scratch=scratch, timeout_s=300)
        yield Deployed(
            namespace=namespace,
            services=tuple(one.at("127.0.0.1", authority=authority) for one in services),
        )
