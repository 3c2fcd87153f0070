"""What is generated from what our stacks declare: README's table of stacks, and the lock file.

python -m lab.generate         writes both; the lock file takes the network, and keeps the versions that it has
python -m lab.generate table   the table alone
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.common import ROOT, told
from lab.stacks import listed
from records.errors import CannotGoOn
from stacks.folders import Found, own

README = ROOT / "README.md"
LOCK = ROOT / "requirements.lock"
BEGIN, END = "<!-- made by `make generate` -->\n\n", "\n<!-- end of what `make generate` makes -->\n"
_OF_STACKS = Path("build/stacks.in")  # as the lock file names where a requirement is from
_UV = Path("build/lock")


def table() -> str:
    """README's table of our stacks."""
    rows = [
        (f"`{row.stack}`", row.about, row.runs_on or "clients only", *map(_words, (row.patterns, row.guarantees)))
        for row in listed(Found(own()))
    ]
    head = ("stack", "what it is", "runs on", "patterns", "guarantees")
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ("---",) * len(head), *rows))


def filled(text: str) -> str:
    """README's text with the table as it is now; CannotGoOn where README has no place for it."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise CannotGoOn(f"{README}: has no lines {BEGIN.strip()} and {END.strip()}, between which the table is")
    return f"{before}{BEGIN}{table()}{END}{after}"


def requirements() -> tuple[str, ...]:
    """What our stacks need of the environment, each once."""
    return tuple(dict.fromkeys(package.requires for one in own() for package in one.python))


def lock() -> None:
    """Write the lock file; CannotGoOn when that does not work."""
    wanted = ROOT / _OF_STACKS
    wanted.parent.mkdir(exist_ok=True)
    wanted.write_text("".join(f"{one}\n" for one in requirements()))
    uv = ROOT / _UV / "bin" / "uv"
    if not uv.exists():
        _run(sys.executable, "-m", "venv", str(_UV))
        _run(str(_UV / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "uv")
    _run(
        str(uv), "pip", "compile", "--quiet", "--no-header", "--generate-hashes", "--python-version", "3.11",
        "--extra", "test", "--output-file", LOCK.name, "pyproject.toml", str(_OF_STACKS),
    )  # fmt: skip


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode:
        raise CannotGoOn(f"{' '.join(command)}: ended with status {done.returncode}; {LOCK.name} is as it was")


def _words(words: Sequence[str]) -> str:
    return ", ".join(words)


if __name__ == "__main__":
    with told():
        README.write_text(filled(README.read_text()))
        if sys.argv[1:] != ["table"]:
            lock()
