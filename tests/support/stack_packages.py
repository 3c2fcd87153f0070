"""Packages that bring stacks, as if they were installed, and the one that docs/adding-a-stack.md shows."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from stacks import folders

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "adding-a-stack.md"
LACKING = "no-such-package-of-airwire"
TOML = f"""
[stacks]
other = "airwire_other.driver:Other"

[[debian]]
package = "{LACKING}"
daemon = true
"""
DRIVER = """
from stacks.null.driver import Null


class Other(Null):
    "Somebody else's."

    def __init__(self):
        super().__init__(name="other")
"""


def shown() -> dict[str, str]:
    """The files of the guide, by path."""
    files: dict[str, str] = {}
    for block in re.findall(r"```(?:python|toml|yaml)\n(# .*?)```", GUIDE.read_text(), re.DOTALL):
        _, *parts = re.split(r"^# (\S+\.\w+)\n", block, flags=re.MULTILINE)
        files |= dict(zip(parts[::2], parts[1::2], strict=True))
    return files


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Files below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@contextmanager
def installed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, toml: str = TOML, driver: str = DRIVER, entry: str = ""
) -> Iterator[None]:
    """Package airwire-other 1.0 is on the path.  entry: what its entry point names, else the package."""
    point = entry or "airwire_other"
    write(
        folder,
        {
            "airwire_other/__init__.py": "",
            "airwire_other/driver.py": driver,
            "airwire_other/stack.toml": toml,
            "airwire_other-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: airwire-other\nVersion: 1.0\n",
            "airwire_other-1.0.dist-info/entry_points.txt": f"[{folders.GROUP}]\nother = {point}\n",
        },
    )
    with monkeypatch.context() as changed:
        changed.syspath_prepend(folder)
        importlib.invalidate_caches()
        _forget()
        try:
            yield
        finally:
            _forget()
    folders.found.cache_clear()


def _forget() -> None:
    folders.found.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "airwire_other"]:
        del sys.modules[name]
