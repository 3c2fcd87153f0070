"""Files and folders of a service, opened so that nothing that somebody else has put there is used.

Who may write to a folder above a service's (everybody, where that is /tmp or /var/tmp) can put a link, a pipe or a
folder of his own in its place before the service comes.  So a folder is used if it is our own user's, is no link and is
writable by nobody else, and so is each folder on the way to it that stands in one that everybody may write to.  Files
are opened below it without following a link, and used if they are plain files of our own user.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class UnsafeFileError(OSError):
    """Something at a path that is not ours; the message names it, what it is and the way out."""

    def __init__(self, path: Path | str, what: str) -> None:
        super().__init__(f"{path} {what}: remove it, or choose another folder")


@contextmanager
def private_folder(path: Path) -> Iterator[int]:
    """A folder, made with mode 0700 where it is missing, as a descriptor.  UnsafeFileError when it is not safe."""
    path = path.absolute()
    _check_above(path)
    if not os.path.lexists(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
    handle = _open_folder(str(path), None)
    try:
        found = os.fstat(handle)
        if not _is_ours(found, path):
            raise UnsafeFileError(path, f"belongs to user {found.st_uid}, not to user {os.geteuid()}")
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise UnsafeFileError(path, f"may be written to by others (mode {stat.S_IMODE(found.st_mode):04o})")
        _check_above(path)  # also what was made just now, or put there by somebody meanwhile
        yield handle
    finally:
        os.close(handle)


def _check_above(path: Path) -> None:
    """UnsafeFileError for something of another user above `path`, where everybody may write.

    A link of ours or of root's is how this machine is arranged; where it leads is looked at as well.
    """
    there = next(one for one in path.parents if one.exists())
    for above in {*path.parents, *Path(os.path.realpath(path.parent) + "/x").parents}:
        if not os.path.lexists(above) or not os.stat(above.parent).st_mode & stat.S_IWOTH:
            continue
        found = os.lstat(above)
        if found.st_uid and not _is_ours(found, there):
            raise UnsafeFileError(above, f"belongs to user {found.st_uid}, not to user {os.geteuid()}")


def _is_ours(found: os.stat_result, folder: Path) -> bool:
    """In the lab kernel files of ours are not root's, although we are root: a new one shows whose they are."""
    return found.st_uid == os.geteuid() or found.st_uid == _owner_of_new_files(folder)


def _owner_of_new_files(folder: Path) -> int:
    fresh = folder / f".{os.urandom(8).hex()}"
    try:
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return os.geteuid()
    try:
        return os.fstat(handle).st_uid
    finally:
        os.close(handle)
        os.unlink(fresh)


def _open_folder(name: str, folder: int | None) -> int:
    """Open a folder that is no link."""
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise UnsafeFileError(name, "is a link" if _is_link(name, folder) else "is not a folder") from None
        raise


def sub_folder(folder: int, name: str) -> bool:
    """Make a folder below one that `private_folder` has given; whether it was missing."""
    made = False
    current = os.dup(folder)
    try:
        for part in _parts(name):
            with suppress(FileExistsError):
                os.mkdir(part, mode=0o700, dir_fd=current)
                made = True
            deeper = _open_folder(part, current)
            os.close(current)
            current = deeper
    finally:
        os.close(current)
    return made


def open_file(folder: int, name: str, flags: int, mode: int = 0o600) -> int:
    """Open a plain file of ours below a folder, which is on the way to no link.  OSError; UnsafeFileError."""
    *above, last = _parts(name)
    current = os.dup(folder)
    try:
        for part in above:
            deeper = _open_folder(part, current)
            os.close(current)
            current = deeper
        # Without O_NONBLOCK a pipe that somebody has put there would be waited for.
        safe = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            handle = os.open(last, flags | safe, mode, dir_fd=current)
        except OSError:
            if _is_link(last, current):
                raise UnsafeFileError(name, "is a link") from None
            raise
    finally:
        os.close(current)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise UnsafeFileError(name, "is not a plain file")
        if found.st_uid not in {os.geteuid(), os.fstat(folder).st_uid}:
            raise UnsafeFileError(name, f"belongs to user {found.st_uid}, not to user {os.geteuid()}")
    except BaseException:
        os.close(handle)
        raise
    return handle


def replace_file(folder: int, name: str, content: bytes) -> None:
    """Write a file of mode 0600 below a folder: all of it or nothing."""
    *above, last = _parts(name)
    current = os.dup(folder)
    try:
        for part in above:
            deeper = _open_folder(part, current)
            os.close(current)
            current = deeper
        fresh = f".{last}.new"
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=current)  # of one who was killed; a link goes, not what it leads to
        with os.fdopen(open_file(current, fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(content)
        os.replace(fresh, last, src_dir_fd=current, dst_dir_fd=current)
    finally:
        os.close(current)


def _parts(name: str) -> list[str]:
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts:
        raise UnsafeFileError(name, "is not a name below the service's folder")
    return list(parts)


def _is_link(name: str, folder: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False
