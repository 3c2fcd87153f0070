"""JMS's acknowledgement by the application, for the patterns whose consumers acknowledge."""

from __future__ import annotations

from collections.abc import Callable

from stacks.driver import Connection, Handler, JmsConnection, StackError


def acknowledging(receive: Handler, acknowledge: Callable[[], None], *, every: int) -> Handler:
    """A consumer that acknowledges after every so many messages."""
    since = 0

    def receive_and_acknowledge(body: bytes, redelivered: bool) -> None:
        nonlocal since
        receive(body, redelivered)
        since += 1
        if since == every:
            since = 0
            acknowledge()

    return receive_and_acknowledge


def jms(connection: Connection) -> JmsConnection:
    """The connection as one with JMS's own features; StackError where it has none."""
    if not isinstance(connection, JmsConnection):
        raise StackError("this stack has only Bytes messages and listeners, and no CLIENT acknowledgement")
    return connection
