"""What workers lack, as one archive: the packages that tasks import, as they are installed here, with byte code.

    build/workers-<digest>.tar.gz: bin/python, and the packages as in a folder of site-packages

Spark unpacks it beside each task.  It fits workers with this platform and this minor version of Python.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import sysconfig
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path, PurePosixPath
from uuid import uuid4

from analysis.spark.bytecode import byte_code
from analysis.spark.needs import distributions
from analysis.spark.ship import ROOT

NAME = "airwire-env"  # of the folder that workers find it in
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
PLACE = ROOT / "build"
_REVISION = 3  # of what is put in, and how
_NOT_SENT = frozenset({"__pycache__", "include"})
_RPC = "_flight"  # in the names of what is of Arrow's RPC, a tenth of all, which nothing else needs
_SUFFIXES = frozenset({".pyi", ".pxd", ".pyx", ".h", ".hpp", ".a", ".pyc"})
# Who starts Python by a path alone (Spark Connect) starts this, which finds the packages beside it.
_START = f"""#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
PYTHONPATH="$here${{PYTHONPATH:+:$PYTHONPATH}}" OPENBLAS_NUM_THREADS=1 exec "${{AIRWIRE_PYTHON:-{PYTHON}}}" "$@"
"""


def archive(place: Path = PLACE, found: Sequence[metadata.Distribution] | None = None) -> Path:
    """The archive of the distributions `found` (None: what tasks import), made in `place` unless it is there.

    Archives of other versions in `place` are removed.  OSError where `place` cannot be written.
    """
    chosen = distributions() if found is None else found
    path = place / f"workers-{digest(chosen)}.tar.gz"
    if path.is_file():
        return path
    place.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        # Level 1: libraries are a third of their size, and higher levels cost several times as much for little.
        with fresh.open("wb") as raw, gzip.GzipFile("", "wb", 1, raw, mtime=0) as packed:
            _write(packed, chosen)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    for other in place.glob("workers-*.tar.gz"):
        if other != path:
            with suppress(OSError):
                other.unlink()
    return path


def made(spare: Path) -> Path:
    """The archive of what tasks import: kept for later jobs, or in the folder `spare` where that cannot be written."""
    try:
        return archive()
    except OSError:
        return archive(spare)


def digest(found: Sequence[metadata.Distribution]) -> str:
    """Of what an archive holds: each distribution's list of files with their digests; of platform and Python too."""
    whole = hashlib.sha256(f"{_REVISION}\0{sysconfig.get_platform()}\0{PYTHON}\0".encode())
    for one in found:
        whole.update(f"{one.name}\0{one.version}\0{one.read_text('RECORD') or ''}\0".encode())
    return whole.hexdigest()[:16]


def site_packages() -> tuple[str, ...]:
    """Folders of this machine that have the packages."""
    return tuple(dict.fromkeys(str(one.locate_file("")) for one in distributions()))


def _write(file: gzip.GzipFile, found: Sequence[metadata.Distribution]) -> None:
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        content = _START.encode()
        start = tarfile.TarInfo("bin/python")
        start.size, start.mode = len(content), 0o755
        tar.addfile(start, io.BytesIO(content))
        for one in found:
            for name, path in _files(one):
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = path.stat().st_size, 0o755 if os.access(path, os.X_OK) else 0o644
                with path.open("rb") as source:
                    tar.addfile(entry, source)
                if path.suffix == ".py" and (code := byte_code(path)):
                    at = PurePosixPath(name)
                    entry = tarfile.TarInfo(f"{at.parent}/__pycache__/{at.stem}.{sys.implementation.cache_tag}.pyc")
                    entry.size = len(code)
                    tar.addfile(entry, io.BytesIO(code))


def _files(one: metadata.Distribution) -> Iterator[tuple[str, Path]]:
    """What tasks may need of a distribution: name in the archive and file."""
    for file in sorted(one.files or ()):
        path = Path(str(one.locate_file(file)))
        if is_wanted(PurePosixPath(str(file))) and path.is_file():
            yield str(file), path


def is_wanted(file: PurePosixPath) -> bool:
    """Whether a file of a distribution is sent: not scripts, C sources, stubs, RPC, or tests (but what others use)."""
    parts = set(file.parts)
    if ".." in parts or file.is_absolute() or parts & _NOT_SENT or file.suffix in _SUFFIXES or _RPC in file.name:
        return False
    return "tests" not in parts or file.name.startswith("_")
