"""Subscribers that go out of reach: their connections are cut, and made again later."""

from __future__ import annotations

import asyncio

from experiments.load.clock import Clock
from experiments.load.connecting import Clients
from experiments.load.protocol import NodePlan, Times
from records.manifest import Consumer
from records.nodes import Absence
from stacks.driver import StackError

# How long a subscriber waits before it tries again, when the provider refused it or did not answer.
RETRY_S = 0.2


async def roam(plan: NodePlan, clients: Clients, clock: Clock, times: Times) -> None:
    """Cut the connections of all consumers when the plan says so, and bring each back, however often it takes.

    A provider that has not noticed the cut may refuse a client that it believes to be there still.
    """
    if plan.away is None:
        return
    leaving_ns = times.start_ns + int(plan.away.at_s * 1e9)
    due_ns = leaving_ns + int(plan.away.lasts_s * 1e9)
    await clock.sleep_until(leaving_ns)
    for consumer in plan.consumers:
        clients.cut(consumer.id)
        clients.absences[consumer.id].append(Absence(left_ns=clock.now_ns(), due_ns=due_ns))
    await clock.sleep_until(due_ns)
    async with asyncio.TaskGroup() as returning:
        for consumer in plan.consumers:
            returning.create_task(_back(consumer, plan, clients, clock))


async def _back(consumer: Consumer, plan: NodePlan, clients: Clients, clock: Clock) -> None:
    while True:
        try:
            async with asyncio.timeout(plan.connect_timeout_s):
                await clients.consume(consumer)
            break
        except (StackError, TimeoutError):
            await asyncio.sleep(RETRY_S)
    absences = clients.absences[consumer.id]
    absences[-1] = absences[-1].model_copy(update={"back_ns": clock.now_ns()})
