"""Both sides of a session between nodes, without a network."""

from __future__ import annotations

from stacks.iris.session import Session

KEY = bytes(range(32))


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
