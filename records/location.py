"""Places that users name: paths of this machine, and URIs of object stores and what else pyarrow's file systems reach.

A plain path, or a `file:` URI, is a `Path` and nothing else.  Any other URI is a `Remote`, whose text up to a `?` is
the name as it stands, without escapes.  After the `?` of an `s3:` URI stand `endpoint_override`, `scheme`, `region` and
`anonymous`, as pyarrow has them (the endpoint else by `AWS_ENDPOINT_URL`); secrets come from the environment
(`AWS_ACCESS_KEY_ID`, ...) or the AWS profile.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit
from uuid import uuid4

import numpy as np
import pyarrow as pa

from records.errors import CannotGoOn
from records.filesystems import TIMEOUT, BadURI, file_system, timeout_s

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

_PART_BYTES = 8 << 20  # of one call: so much is read again when one breaks off
_AT_ONCE = 4  # calls of one read
_PAUSES_S = (0.5, 2.0)  # before the second and the third attempt
_OPTIONS = {"endpoint_override", "scheme", "region", "anonymous"}
_LOCAL = re.compile(r"[Ff][Ii][Ll][Ee]:(/(?!/).*)", re.DOTALL)  # as Java writes a file's URI
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_WHOLE_WRITES = {"s3", "gcs", "abfs"}  # file systems on which a file is there when all of it is, and folders are names
_NO_RIGHT = ("ACCESS_DENIED", "INVALID_ACCESS_KEY", "SIGNATURE", "INVALID_CLIENT_TOKEN", "EXPIRED_TOKEN", "HTTP 403")
_log = logging.getLogger("airwire.location")
T = TypeVar("T")


class Unreachable(CannotGoOn, OSError):
    """A place at a URI could not be read or written; the message names it and says what is wrong."""


class NotThere(Unreachable):
    """There is no such file at the URI, or no such bucket."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A file or folder at a URI, with those of Path's ways that readers of files use; `str` of it is the URI."""

    scheme: str
    path: str
    query: str = ""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.path}" + (f"?{self.query}" if self.query else "")

    def __truediv__(self, name: str) -> Remote:
        return Remote(self.scheme, f"{self.path.rstrip('/')}/{name}", self.query)

    @property
    def name(self) -> str:
        """The last part."""
        return self.path.rstrip("/").rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The last part without its suffix."""
        return Path(self.name).stem

    @property
    def suffix(self) -> str:
        """The suffix of the last part, with its point."""
        return Path(self.name).suffix

    def resolve(self) -> Remote:
        """Itself: a URI is whole."""
        return self

    def is_file(self) -> bool:
        """Whether there is such a file.  Raises Unreachable when nobody can say."""
        return _size(self) is not None

    def size(self) -> int:
        """Bytes of the file.  Raises NotThere, Unreachable."""
        found = _size(self)
        if found is None:
            raise NotThere(f"{self}: there is no such file")
        return found

    @contextmanager
    def open(self, _mode: str = "rb") -> Iterator[RemoteFile]:
        """The file, for reading ranges of it.  Raises NotThere, Unreachable."""
        system, path = _system(self)
        file = _tried(self, "opened", lambda: system.open_input_file(path))
        try:
            yield RemoteFile(self, file, int(file.size()))
        finally:
            file.close()

    def read_bytes(self) -> bytes:
        """The whole file.  Raises NotThere, Unreachable."""
        with self.open() as file:
            return file.load(0, file.size).tobytes()

    def files(self) -> dict[str, int]:
        """Bytes of each file below this folder, by its name from here on; one listing, in pages, whatever there is."""
        system, path = _system(self)
        return {name.removeprefix(f"{path.rstrip('/')}/"): size for name, size in _files(self, system, path, deep=True)}

    def entries(self) -> tuple[list[str], list[Remote]]:
        """Names of the files in this folder, and the folders in it, both sorted; one listing, in pages."""
        system, path = _system(self)
        found = _listed(self, system, path, deep=False)
        names = [sorted(one.base_name for one in found if one.is_file is is_file) for is_file in (True, False)]
        return names[0], [self / name for name in names[1]]

    def matching(self) -> list[Remote]:
        """The files that this pattern names, sorted: `*` and `[...]` stand for parts of a name, never for a `/`.

        One listing of the folder before the first of them, so names before it cost nothing.
        """
        parts = self.path.split("/")
        first = next((n for n, part in enumerate(parts) if "*" in part or "[" in part), None)
        if first is None:
            return [self] if self.is_file() else []
        above = Remote(self.scheme, "/".join(parts[:first]), self.query)
        wanted = [re.compile(translate(part)) for part in parts[first:]]
        system, path = _system(above)
        found = []
        for full, _ in _files(above, system, path, deep=len(wanted) > 1):
            name = full.removeprefix(f"{path.rstrip('/')}/")
            own = name.split("/")
            if len(own) == len(wanted) and all(one.match(part) for one, part in zip(wanted, own, strict=True)):
                found.append(above / name)
        return sorted(found, key=str)

    def write(self, source: bytes | Path) -> None:
        """Put a file here, from bytes or from a file of this machine; it has its name when all of it is there.

        Raises Unreachable, and OSError when `source` cannot be read.
        """
        system, path = _system(self)
        whole = system.type_name in _WHOLE_WRITES
        partial = path if whole else f"{path}{_PARTIAL}{uuid4().hex}"

        def work() -> OSError | None:
            if not whole:
                system.create_dir(path.rpartition("/")[0], recursive=True)
            try:
                with system.open_output_stream(partial) as out:
                    unread = _sent(source, out)
            except BaseException:
                if not whole:  # a disk that is full has to have its room back
                    with suppress(OSError, pa.ArrowException):
                        system.delete_file(partial)
                raise
            if unread is not None:  # an object is there as soon as its stream is closed
                system.delete_file(partial)
            elif not whole:
                system.move(partial, path)
            return unread

        # In a thread, as whoever is interrupted closes the stream, and a part of the file would have its name.
        with ThreadPoolExecutor(1) as alone:
            unread = alone.submit(_tried, self, "written", work).result()
        if unread is not None:
            raise unread

    def unlink(self) -> None:
        """Remove the file; nothing is wrong when there is none."""
        system, path = _system(self)
        try:
            _tried(self, "removed", lambda: system.delete_file(path))
        except NotThere:
            return


Place = Path | Remote
_PARTIAL = ".partial-"


def is_partial(name: str) -> bool:
    """Whether a file's name is of one that was being written, by `Remote.write`, when that was killed."""
    return re.fullmatch(r".*\.partial-[0-9a-f]{32}", name, re.DOTALL) is not None


def written_to(partial: str) -> str:
    """The name of the file that was being written under a name that `is_partial`."""
    return partial.rpartition(_PARTIAL)[0]


def _sent(source: bytes | Path, out: Any) -> OSError | None:
    """Write all of it; what went wrong where it could not be read."""
    if isinstance(source, bytes):
        out.write(source)
        return None
    try:
        file = source.open("rb")
    except OSError as error:
        return error
    with file:
        while True:
            try:
                part = file.read(_PART_BYTES)
            except OSError as error:
                return error
            if not part:
                return None
            out.write(part)


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """An open file at a URI.  size: its bytes."""

    place: Remote
    file: Any
    size: int

    def load(self, start: int, end: int) -> np.ndarray:
        """Bytes [start, end), uint8, fewer when the file is shorter; a call for each 8 MiB, what breaks off again.

        Raises Unreachable.
        """
        end = min(end, self.size)
        found = np.empty(max(end - start, 0), dtype=np.uint8)
        parts = [(at, min(at + _PART_BYTES, end)) for at in range(start, end, _PART_BYTES)]

        def fill(part: tuple[int, int]) -> None:
            first, last = part
            got = _tried(self.place, f"read from byte {first} on", lambda: self._part(first, last))
            found[first - start : last - start] = np.frombuffer(got, dtype=np.uint8)

        if len(parts) == 1:
            fill(parts[0])
        elif parts:
            with ThreadPoolExecutor(min(_AT_ONCE, len(parts))) as pool:
                list(pool.map(fill, parts))
        return found

    def parts(self) -> Iterator[memoryview]:
        """The whole file, 8 MiB at a time.  Raises Unreachable."""
        for at in range(0, self.size, _PART_BYTES):
            yield self.load(at, at + _PART_BYTES).data

    def _part(self, first: int, last: int) -> bytes:
        got: bytes = self.file.read_at(last - first, first)
        if len(got) != last - first:
            raise OSError(f"{len(got)} of {last - first} bytes came")
        return got


def is_text(word: str) -> bool:
    """Whether a word of the system's, such as a path, is UTF-8: records can hold no other."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def locate(text: str | Path) -> Place:
    """What a user named: Path, or Remote for a URI of a scheme other than `file`.  Raises BadURI."""
    if not is_text(str(text)):
        raise BadURI(f"{str(text)!r}: its name is no UTF-8, and so cannot stand in a table: give it another")
    if isinstance(text, str) and (local := _LOCAL.fullmatch(text)):
        return Path(unquote(local[1]))
    if isinstance(text, Path) or not (found := _URI.fullmatch(text)):
        return Path(text)
    scheme, rest = found[1].lower(), found[2]
    if scheme == "file":
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost"):
            raise BadURI(f"{text}: a file: URI names a file of this machine, as in file:///tmp/a.pcap")
        return Path(unquote(parts.path))
    path, _, query = rest.partition("?")
    first = path.partition("/")[0]  # as in CONTAINER@ACCOUNT or HOST:PORT; keys may have a `/` in them
    if re.search(r":(?![0-9]*$)", first) or (scheme == "s3" and "@" in first):
        raise BadURI(f"{scheme}: URI: a user or key in a URI is seen by everybody; {_secrets(scheme)}")
    if scheme == "s3" and (other := {name for name, _ in parse_qsl(query, keep_blank_values=True)} - _OPTIONS):
        named, known = ", ".join(sorted(other)), ", ".join(sorted(_OPTIONS))
        raise BadURI(f"{scheme}://{path}: no option {named} here, but {known}; {_SECRETS}")
    if secret := [name for name, _ in parse_qsl(query) if _SECRET.search(name)]:
        raise BadURI(f"{scheme}://{path}: {', '.join(secret)} in a URI is seen by everybody; {_secrets(scheme)}")
    if not path.strip("/"):
        raise BadURI(f"{scheme}://: names no {'bucket' if scheme == 's3' else 'place'}")
    return Remote(scheme, path, query)


def _secrets(scheme: str) -> str:
    return _SECRETS if scheme == "s3" else "secrets come from the environment, as that store's client takes them"


_SECRET = re.compile("secret|password|token|key|credential|sas|^sig(nature)?$", re.IGNORECASE)
_SECRETS = "secrets come from the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY) or the AWS profile"


def remote(place: Place) -> Remote:
    """The same place as a Remote: a folder of this machine, too, can be written to like a store."""
    return place if isinstance(place, Remote) else Remote("file", str(place.absolute()))


def bytes_at(place: Place) -> int:
    """Bytes of a file, 0 when there is none.  Raises Unreachable."""
    if isinstance(place, Remote):
        return _size(place) or 0
    return place.stat().st_size if place.is_file() else 0


def size_of(file: BinaryIO | RemoteFile) -> int:
    """Bytes of an open file of either kind."""
    return file.size if isinstance(file, RemoteFile) else os.fstat(file.fileno()).st_size


def _system(place: Remote) -> tuple[FileSystem, str]:
    """The file system behind a URI, and the path there."""
    return file_system(place.scheme, place.path, place.query)


def _size(place: Remote) -> int | None:
    from pyarrow import fs  # noqa: PLC0415

    system, path = _system(place)
    found = _tried(place, "found", lambda: system.get_file_info(path))
    return int(found.size) if found.type == fs.FileType.File else None


def _files(place: Remote, system: FileSystem, path: str, *, deep: bool) -> list[tuple[str, int]]:
    return [(one.path, int(one.size)) for one in _listed(place, system, path, deep=deep) if one.is_file]


def _listed(place: Remote, system: FileSystem, path: str, *, deep: bool) -> list[FileInfo]:
    from pyarrow import fs  # noqa: PLC0415

    chosen = fs.FileSelector(path, recursive=deep, allow_not_found=True)
    found: list[FileInfo] = _tried(place, "listed", lambda: system.get_file_info(chosen))
    return found


def _tried(place: Remote, what: str, work: Callable[[], T]) -> T:
    """What `work` gives, which is tried again when it fails of something that may pass.  Raises Unreachable."""
    for pause in (*_PAUSES_S, None):
        try:
            return work()
        except (OSError, pa.ArrowException) as error:
            if isinstance(error, FileNotFoundError) or "NO_SUCH_BUCKET" in str(error):
                raise NotThere(f"{place}: there is no such file, or no such bucket or folder") from error
            why = _said(error)
            if isinstance(error, PermissionError) or any(word in str(error) for word in _NO_RIGHT):
                raise Unreachable(f"{place}: it could not be {what}: {why}") from error
            if pause is None:
                raise Unreachable(f"{place}: it could not be {what}, {len(_PAUSES_S) + 1} times: {why}") from error
            _log.warning("%s: it could not be %s, which is tried again: %s", place, what, why)
        time.sleep(pause)
    raise AssertionError


def _said(error: Exception) -> str:
    """The reason, with the store's own words."""
    text = getattr(error, "strerror", None) or str(error)
    text = text[max(text.find("AWS Error"), 0) :]  # before it stands what the place says already
    if any(word in text for word in _NO_RIGHT):
        return f"the credentials in use have no right to ({text}); {_SECRETS}"
    if "curlCode: 28" in text:
        return f"no byte came for {timeout_s():g} s ({TIMEOUT}; {text})"
    return text
