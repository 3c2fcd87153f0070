"""What can go wrong with Spark itself, in as few words as say what it is."""

from __future__ import annotations

import re
import socket
from urllib.parse import urlsplit

_PATIENCE_S = 10.0
_SHOWN_LINES = 25
# A call in a Java stack, with or without `at`.
_CALL = re.compile(r"\s*(at\s|\.\.\. \d|[\w.$<>/]+\((\w+\.(java|scala):\d+|Native Method|Unknown Source)\)$)")


class SparkFailed(Exception):
    """Spark could not start or its job failed; the message holds the end of its log."""


def telling(*texts: str) -> str:
    """The lines of an error and of a log that say something, each once: not the stacks of Java calls."""
    lines = [line.rstrip() for text in texts for line in text.partition("JVM stacktrace:")[0].splitlines()]
    return "\n  ".join(list(dict.fromkeys(line for line in lines if line and not _CALL.match(line)))[:_SHOWN_LINES])


def must_answer(address: str, *, what: str, port: int) -> None:
    """SparkFailed at once when nothing listens at any of an address's hosts: Spark would try for minutes.

    address: SCHEME://HOST[:PORT], or several of HOST[:PORT] behind each other with commas.
    """
    scheme, _, hosts = address.partition("://")
    why: Exception | None = None
    for host in hosts.split(","):
        try:
            place = urlsplit(f"{scheme}://{host}")
            if not place.hostname:
                raise ValueError("it names no host")
            socket.create_connection((place.hostname, place.port or port), _PATIENCE_S).close()
        except (OSError, ValueError) as error:
            why = error
        else:
            return
    raise SparkFailed(f"{address}: no {what} answers there: {why}") from why
