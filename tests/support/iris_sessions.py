"""Both sides of a session between nodes, without a network."""

from __future__ import annotations

import random

from stacks.iris.session import Session

KEY = bytes(range(32))
CHANGES = ("replayed", "reordered", "truncated", "flipped")


def pair(*, key: bytes = KEY, network: str = "lab", rekey_every: int = 1 << 22) -> tuple[Session, Session]:
    """Sides that have said nothing yet."""
    return (
        Session(initiator=True, key=KEY, network="lab", hello=b"first", rekey_every=rekey_every),
        Session(initiator=False, key=key, network=network, hello=b"second", rekey_every=rekey_every),
    )


def shaken(**changed: int) -> tuple[Session, Session]:
    """Sides behind their handshake."""
    first, second = pair(**changed)
    second.feed(b"".join(first.outgoing()))
    first.feed(b"".join(second.outgoing()))
    return first, second


def sent(session: Session, *frames: bytes) -> bytes:
    """What is on the way of frames."""
    for frame in frames:
        session.send(frame)
    return b"".join(session.outgoing())


def changed(stream: list[bytes], how: str, draw: random.Random) -> bytes:
    """Records that somebody on the way has had in hand."""
    at = draw.randrange(len(stream))
    if how == "replayed":
        return b"".join((*stream[: at + 1], *stream[at:]))
    if how == "reordered":
        other = (at + 1) % len(stream)
        records = list(stream)
        records[at], records[other] = records[other], records[at]
        return b"".join(records)
    if how == "truncated":
        cut = stream[at][: draw.randrange(1, len(stream[at]))]
        return b"".join((*stream[:at], cut, *stream[at + 1 :], *stream))
    flipped = bytearray(b"".join(stream))
    flipped[draw.randrange(len(flipped))] ^= 1 << draw.randrange(8)
    return bytes(flipped)
