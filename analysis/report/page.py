"""Filling in the report's pages: each holds its style and its script, and allows itself nothing else."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import BytecodeCache, DictLoader, Environment, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

_HERE = Path(__file__).parent


class _Compiled(BytecodeCache):
    """Templates that this process has compiled, by name and text: another report does not do so again."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Put it into the bucket, where it is there."""
        if code := self._codes.get((bucket.key, bucket.checksum)):
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Take it out of the bucket."""
        self._codes[bucket.key, bucket.checksum] = bucket.bytecode_to_string()


_COMPILED = _Compiled()


def _unbroken(text: str) -> str:
    """The same with no place for a line to end between a number and its ± or its per cent sign."""
    return text.replace("± ", "±\u00a0").replace(" %", "\u00a0%")


class Pages:
    """The templates, read once for all pages of a report.

    extra: one more style sheet of this folder.  templates: where to look for templates first.
    """

    def __init__(self, *, extra: str | None = None, templates: Path = _HERE) -> None:
        self._templates = {
            path.name: path.read_text() for folder in (_HERE, templates) for path in sorted(folder.glob("*.j2"))
        }
        self._environment = Environment(
            loader=DictLoader(self._templates),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            bytecode_cache=_COMPILED,
        )
        self._environment.filters["unbroken"] = _unbroken
        style = "".join((_HERE / name).read_text() for name in ("report.css", extra) if name)
        script = (_HERE / "sort.js").read_text()
        self._shared = {
            "style": Markup(style),  # noqa: S704 - our own files, not data
            "script": Markup(script),  # noqa: S704
            "policy": f"default-src 'none'; img-src data:; style-src {_digest(style)}; script-src {_digest(script)}; "
            "base-uri 'none'; form-action 'none'",
        }

    def fill(self, template: str, values: dict[str, Any]) -> str:
        """One page."""
        return self._environment.get_template(template).render(**self._shared, **values)

    def macro(self, template: str, name: str, *values: object) -> str:
        """What a macro of a template gives, to be put into a page as it is."""
        return str(getattr(self._environment.get_template(template).module, name)(*values))

    def digest(self) -> str:
        """SHA-256, hexadecimal, over all templates, the style and the script."""
        said = "\0".join(f"{name}\0{len(text)}\0{text}" for name, text in {**self._shared, **self._templates}.items())
        return hashlib.sha256(said.encode()).hexdigest()


def _digest(text: str) -> str:
    """A source of a content security policy: this very text, and nothing that a name from a file could become."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
