"""Which version of this program runs trials: its git revision, and a digest of the files that a trial consists of."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from records.manifest import Git

ROOT = Path(__file__).resolve().parents[2]
# What a trial's process imports, or hands to Ansible and the lab kernel.  Not the command line, analysis, tests, docs.
FOLDERS = ("emulation", "experiments", "playbooks", "records", "stacks", "topologies")
_WITH_ROLES = ("playbooks", "stacks")
# YAML elsewhere is scenarios and link profiles, of which each campaign has a copy.
_SUFFIXES, _OF_ROLES = {".py", ".c", ".sh"}, {".py", ".yml", ".j2", ".cfg", ".toml"}
_REVISION = re.compile(r"[0-9a-f]{7,64}")


def git(root: Path = ROOT) -> Git:
    """The revision of this program; dirty: with changes that no commit has, untracked files of trials included."""
    revision = "".join(_git(root, "rev-parse", "HEAD")).strip()
    changed = [*_git(root, "status", "--porcelain", "--untracked-files=no"), *_untracked(root)]
    return Git(revision=revision or "unknown", dirty=bool(changed) or not revision, code=code_digest(root))


def code_digest(root: Path = ROOT) -> str:
    """SHA-256, hexadecimal, over names and contents of all files that trials consist of, as they are on disk."""
    digest = hashlib.sha256()
    for path in code_files(root):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def code_files(root: Path = ROOT) -> list[Path]:
    """All files that trials consist of, by name, whether git knows them or not."""
    return sorted(path for name in FOLDERS for path in _below(root / name, _suffixes(name)))


def changed_since(then: Git, root: Path = ROOT) -> tuple[str, ...] | None:
    """The files, by name, in which trials of revision `then` differ from trials run now; empty when in none.

    None when they differ, or may, and nobody can say in what: the revision is not known here, or had changes that no
    commit has.
    """
    if then.code and then.code == code_digest(root):
        return ()
    if then.dirty or not _is_known(root, then.revision):
        return None
    changed = _git(root, "diff", "--name-only", "--relative", "-z", then.revision, "--", *FOLDERS)
    found = {name for name in changed if Path(name).suffix in _suffixes(Path(name).parts[0])} | set(_untracked(root))
    return tuple(sorted(found)) if found or not then.code else None


def _suffixes(name: str) -> set[str]:
    return _OF_ROLES if name in _WITH_ROLES else _SUFFIXES


def _below(folder: Path, suffixes: set[str]) -> Iterator[Path]:
    """Files of a package and of the packages in it; playbooks and roles are no packages."""
    for entry in os.scandir(folder) if folder.is_dir() else ():
        path = Path(entry.path)
        if not entry.is_dir():
            if path.suffix in suffixes:
                yield path
        elif entry.name != "__pycache__" and (suffixes is _OF_ROLES or (path / "__init__.py").is_file()):
            yield from _below(path, suffixes)


def _is_known(root: Path, revision: str) -> bool:
    # A manifest may come out of somebody's pack: what looks like an option is no revision.
    if not _REVISION.fullmatch(revision):
        return False
    return bool(_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"))


def _untracked(root: Path) -> list[str]:
    """Files that trials consist of and git does not know, by name; none without git."""
    known = set(_git(root, "ls-files", "-z", "--", *FOLDERS))
    return sorted({str(path.relative_to(root)) for path in code_files(root)} - known) if known else []


def _git(root: Path, *words: str) -> list[str]:
    """What git prints, cut at NULs; nothing when it fails."""
    try:
        done = subprocess.run(("git", "-C", str(root), *words), capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [part for part in done.stdout.split("\0") if part.strip()] if done.returncode == 0 else []
