"""A receiver of the reference broker without a socket."""

from __future__ import annotations


class Taking:
    """A receiver's connection that keeps what it is given."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def deliver(self, *told: object) -> None:
        body = told[-1]
        assert isinstance(body, bytes)
        self.bodies.append(body)

    def behind_bytes(self) -> int:
        return 0
