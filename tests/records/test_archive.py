"""The archive: equal files give equal bytes, and nothing is taken out of one that was not asked for."""

from __future__ import annotations

import io
import lzma
import subprocess
import tarfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.archive import BadArchive, Reader, member, write

CONTENT = {"list": b"2", "a/empty": b"", "a/full": bytes(range(256)) * 9, "a/" + "long-é" * 33: b"x" * 512}


def archive(path: Path, content: dict[str, bytes] = CONTENT) -> Path:
    write(path, [member(name, data) for name, data in content.items()])
    return path


def read(data: bytes, content: dict[str, bytes] = CONTENT) -> dict[str, bytes]:
    reader, found = Reader(io.BytesIO(data)), {}
    first, *rest = content
    found[first] = reader.first(first, most=100)
    for name in rest:
        target = io.BytesIO()
        digest = reader.copy(name, len(content[name]), target)
        assert digest == member(name, content[name]).sha256
        found[name] = target.getvalue()
    reader.end()
    return found


def xz_of(entry: tarfile.TarInfo, content: bytes = b"") -> bytes:
    return lzma.compress(entry.tobuf(tarfile.PAX_FORMAT) + content + bytes(-len(content) % 512 + 1024))


def test_what_was_written_is_read(tmp_path: Path) -> None:
    assert read(archive(tmp_path / "a").read_bytes()) == CONTENT


def test_equal_files_give_equal_bytes(tmp_path: Path) -> None:
    source = tmp_path / "file"
    source.write_bytes(CONTENT["a/full"])
    write(tmp_path / "b", [member(n, source if n == "a/full" else data) for n, data in CONTENT.items()])
    assert archive(tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_tar_unpacks_it_as_well(tmp_path: Path) -> None:
    path, folder = archive(tmp_path / "packed"), tmp_path / "unpacked"
    folder.mkdir()
    subprocess.run(["tar", "-xJf", path], cwd=folder, check=True)
    assert {name: (folder / name).read_bytes() for name in CONTENT} == CONTENT


def test_a_file_that_changes_while_it_is_packed_is_told(tmp_path: Path) -> None:
    source = tmp_path / "file"
    source.write_bytes(b"before")
    one = member("file", source)
    source.write_bytes(b"later!")
    with pytest.raises(BadArchive, match="it changed while it was being packed"):
        write(tmp_path / "a", [one])


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.99])
def test_one_that_ends_early_is_refused(tmp_path: Path, share: float) -> None:
    whole = archive(tmp_path / "a").read_bytes()
    with pytest.raises(BadArchive, match="it ends early"):
        read(whole[: int(len(whole) * share)])


def test_something_behind_the_end_is_refused(tmp_path: Path) -> None:
    whole = archive(tmp_path / "a").read_bytes()
    with pytest.raises(BadArchive, match="something follows"):
        read(whole + b"x")
    more = archive(tmp_path / "b", CONTENT | {"more": b"x"}).read_bytes()
    with pytest.raises(BadArchive, match="between its files"):
        read(more)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_nothing_but_regular_files_is_taken(kind: bytes) -> None:
    entry = tarfile.TarInfo("list")
    entry.type, entry.linkname = kind, "/etc/passwd"
    with pytest.raises(BadArchive, match="does not begin with list"):
        Reader(io.BytesIO(xz_of(entry))).first("list", most=100)
    with pytest.raises(BadArchive, match="is not where the list has it"):
        Reader(io.BytesIO(xz_of(entry))).copy("list", 0, io.BytesIO())


@given(name=st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=300))
def test_a_file_of_another_name_is_never_written(name: str) -> None:
    target = io.BytesIO()
    if name != "list":
        with pytest.raises(BadArchive):
            Reader(io.BytesIO(xz_of(tarfile.TarInfo(name)))).copy("list", 0, target)
    assert target.getvalue() == b""


def test_a_size_that_nobody_asked_for_is_not_read() -> None:
    entry = tarfile.TarInfo("list")
    entry.size = 1 << 20
    with pytest.raises(BadArchive, match="more than 100"):
        Reader(io.BytesIO(xz_of(entry))).first("list", most=100)


def test_a_stream_that_asks_for_much_memory_is_refused() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 29}]
    # The encoder would take gigabytes for that, so the size of the dictionary is put into a header made without.
    plain = bytearray(lzma.compress(b"x" * 5000, filters=[{**filters[0], "dict_size": 1 << 20}]))
    at = plain.index(bytes([0x21, 0x01]), 12)
    plain[at + 2] = 34  # 2^29 bytes
    size = (plain[12] + 1) * 4
    plain[12 + size - 4 : 12 + size] = _crc32(bytes(plain[12 : 12 + size - 4]))
    with pytest.raises(BadArchive, match=r"[Mm]emory"):
        Reader(io.BytesIO(bytes(plain))).first("list", most=100)


def _crc32(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "little")
