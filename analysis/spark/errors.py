"""What can go wrong with Spark itself, in as few words as say what it is."""

from __future__ import annotations

import logging
import re
import socket
from pathlib import Path
from urllib.parse import urlsplit

_PATIENCE_S = 10.0
_SHOWN_LINES = 25
# A call in a Java stack, with or without `at`.
_CALL = re.compile(r"\s*(at\s|\.\.\. \d|[\w.$<>/]+\((\w+\.(java|scala):\d+|Native Method|Unknown Source)\)$)")
# Python's stack: its head, and the lines below that are indented.
_STACK = re.compile(r"^[^\n]*Traceback \(most recent call last\):\n(?:[ \t]+[^\n]*\n|\n)*", re.MULTILINE)
_OURS = re.compile(r"^(?:analysis|records)\.[\w.]+: ", re.MULTILINE)  # an exception of ours, which says all in words


class SparkFailed(Exception):
    """Spark could not start or its job failed; the message holds the end of its log."""


def telling(*texts: str) -> str:
    """The lines of an error and of a log that say something, each once: not the stacks of Java's and Python's calls."""
    said = [_OURS.sub("", _STACK.sub("", text.partition("JVM stacktrace:")[0])) for text in texts]
    lines = [line.rstrip() for text in said for line in text.splitlines()]
    return "\n  ".join(list(dict.fromkeys(line for line in lines if line and not _CALL.match(line)))[:_SHOWN_LINES])


def raised(text: str) -> str:
    """What an exception of Python's said, of a text that ends with its stack; the last one where one led to another."""
    return _OURS.sub("", _STACK.split(text)[-1]).strip()


def unless_py4j(record: logging.LogRecord) -> bool:
    """A filter of the root logger, to which py4j writes the stacks of errors that it raises, interrupts included."""
    return Path(record.pathname).parent.name != "py4j"


def without_options(address: str) -> str:
    """The address of a server for people: what stands behind it, such as `;token=...`, may be secret."""
    return re.sub(r"/?;.*", "", address)


def must_answer(address: str, *, what: str, port: int) -> None:
    """SparkFailed at once when nothing listens at any of an address's hosts: Spark would try for minutes.

    address: SCHEME://HOST[:PORT], or several of HOST[:PORT] behind each other with commas.
    """
    scheme, _, hosts = without_options(address).partition("://")
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
    raise SparkFailed(f"{without_options(address)}: no {what} answers there: {why}") from why
