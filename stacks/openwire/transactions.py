"""JMS's local transactions, one for each message: a session that commits after every send."""

from __future__ import annotations

import asyncio
from itertools import count

from stacks.openwire.connection import Connection
from stacks.openwire.structures import BEGIN, COMMIT, ROLL_BACK, ConnectionId, LocalTransactionId, TransactionInfo


class Transactions:
    """The transactions of one connection.  As Java's client does it, only the commit is answered."""

    def __init__(self, connection: Connection, identity: ConnectionId) -> None:
        self._connection, self._identity = connection, identity
        self._numbers = count(1)

    def begin(self) -> LocalTransactionId:
        """Open one."""
        opened = LocalTransactionId(next(self._numbers), self._identity)
        self._connection.tell(self._info(opened, BEGIN))
        return opened

    def commit_behind(self, sent: asyncio.Future[None], opened: LocalTransactionId) -> asyncio.Future[None]:
        """Commit what was sent as soon as that is answered, or roll it back where it was refused.

        Returns a future that ends with the answer to the commit, or as `sent` where there is none to ask for.
        """
        committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def pass_on(answer: asyncio.Future[None]) -> None:
            error = answer.exception()
            if committed.done():
                return
            if error is not None:
                committed.set_exception(error)
            else:
                committed.set_result(None)

        def answered(answer: asyncio.Future[None]) -> None:
            if answer.exception() is None:
                self._connection.request(self._info(opened, COMMIT)).add_done_callback(pass_on)
                return
            if self._connection.over is None:
                self._connection.tell(self._info(opened, ROLL_BACK))
            pass_on(answer)

        sent.add_done_callback(answered)
        return committed

    def _info(self, opened: LocalTransactionId, kind: int) -> TransactionInfo:
        return TransactionInfo(self._identity, opened, kind)
