"""`spark-defaults.conf`: settings that whoever runs a cluster gives to all of its users."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

NAME = "spark-defaults.conf"
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_KEY = re.compile(r"(?P<key>(?:\\.|[^\\\s=:])*)[ \t\f]*[=:]?[ \t\f]*(?P<value>.*)", re.DOTALL)


def defaults(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Settings of the file in SPARK_CONF_DIR, or else in conf/ of SPARK_HOME; none where there is no such file."""
    home = environment.get("SPARK_HOME")
    folder = environment.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    path = Path(folder) / NAME if folder else None
    return parse(path.read_text(errors="replace")) if path is not None and path.is_file() else {}


def parse(text: str) -> dict[str, str]:
    """The settings of Spark's among the properties of `text`, as java.util.Properties reads them, values trimmed."""
    found = {}
    for line in _logical_lines(text):
        parts = _KEY.fullmatch(line)
        assert parts is not None
        key = _plain(parts["key"])
        if key.startswith("spark."):
            found[key] = _plain(parts["value"]).strip()
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments; one that ends with an odd number of backslashes goes on in the next."""
    whole = ""
    for natural in re.split(r"\r\n|\n|\r", text):
        line = natural.lstrip(" \t\f")
        if not whole and line[:1] in ("", "#", "!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            whole += line[:-1]
            continue
        yield whole + line
        whole = ""
    if whole:
        yield whole


def _plain(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        mark = found[1]
        return chr(int(mark[1:], 16)) if len(mark) > 1 else _CONTROLS.get(mark, mark)

    return _ESCAPE.sub(one, text)
