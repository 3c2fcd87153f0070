"""What stands where a stack would be when a load is programs: they bring what they need."""

from __future__ import annotations

from collections.abc import Sequence

from records.messaging import Guarantee
from records.workload import Pattern
from stacks.driver import Connection, Endpoint, Here, Service, StackError, Subscription

NONE = "none"  # what scenario and manifest call it; no stack's folder has the name, and no scenario needs to say it


class NoStack:
    """It has no services, and nothing connects.  in_client: what runs is in the clients alone."""

    name = NONE
    patterns = frozenset({Pattern.COMMAND})
    guarantees: frozenset[Guarantee] = frozenset()
    in_client = True

    def services(self) -> tuple[Service, ...]:
        """None."""
        return ()

    def why_not(self, wanted: Subscription) -> str:
        """There are no subscriptions."""
        del wanted
        return "programs do not subscribe"

    async def connect(self, here: Here, services: Sequence[Endpoint], client_id: str) -> Connection:
        """StackError: there is nothing to connect to."""
        del here, services
        raise StackError(f"{client_id}: there is no stack")
