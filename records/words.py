"""What a pattern's clients, and what is measured of them, are called in tables, plots and sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Small letters, one of each.  What is left out fits any pattern.

    short: several messages, where there is little room.
    sent, received: what is sent per second, and what arrives.  done: what became of a message by then, in one word
    each.  latency: from the scheduled send to the arrival.  answer: the time until a send is answered, which `answerer`
    does.  followed: of what a journey is told, several.
    """

    sender: str = "sender"
    receiver: str = "receiver"
    message: str = "message"
    short: str = "msg"
    sent: str = "sender throughput"
    received: str = "receiver throughput"
    done: tuple[str, str] = ("sent", "received")
    latency: str = "latency"
    answer: str = "send latency"
    answerer: str = "the stack"
    followed: str = "deliveries"

    def fill(self, text: str) -> str:
        """The text with these words: `{sender}`, several as `{senders}`, at a sentence's begin as `{Sender}`."""
        words = {one.name: word for one in fields(self) if isinstance(word := getattr(self, one.name), str)}
        words |= {f"{name}s": f"{words[name]}s" for name in ("sender", "receiver", "message")}
        words |= {name.capitalize(): word[:1].upper() + word[1:] for name, word in words.items()}
        return _FIELD.sub(lambda found: words.get(found[1], found[0]), text)


GENERAL = Words()
