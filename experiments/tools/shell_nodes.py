"""The nodes of a shell's network: what is said of them, and the command `on`, which runs another on one of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from emulation.kernel.namespace import prefix
from topologies.network import Node

_MOST_SAID = 12


def introduced(nodes: Sequence[Node], here: Node) -> str:
    """What a user who sits down at `here` has to know."""
    more = len(nodes) - _MOST_SAID
    listed = ", ".join(_said(node) for node in nodes[:_MOST_SAID]) + (f" and {more} more" if more > 0 else "")
    return (
        f"you are on {here.name}; there are {listed}\n"
        f"addresses are in variables, as ${here.name.upper()}; `on NODE COMMAND` runs on another node, `on` lists them"
    )


def written(folder: Path, nodes: Sequence[Node]) -> Path:
    """Write the command `on` into a new folder below `folder`, which it returns."""
    place = folder / "bin"
    place.mkdir()
    (place / "on").write_text("\n".join([*_script(nodes), ""]))
    (place / "on").chmod(0o755)
    return place


def _script(nodes: Sequence[Node]) -> Iterator[str]:
    names = ", ".join(node.name for node in nodes)
    yield "#!/bin/sh"
    yield 'node="$1"'
    yield "[ $# -gt 0 ] && shift"
    yield 'case "$node" in'
    for node in nodes:
        yield f"{node.name}) enter={shlex.quote(shlex.join(prefix(node.pid)))} ;;"
    yield f"'') printf '%s\\n' {shlex.join(_said(node) for node in nodes)}; exit ;;"
    yield f"*) echo \"on: there is no node '$node', but {names}\" >&2; exit 2 ;;"
    yield "esac"
    yield '[ $# -gt 0 ] || set -- "${SHELL:-/bin/sh}"'
    yield 'exec $enter "$@"'


def _said(node: Node) -> str:
    return f"{node.name} {node.address}"
