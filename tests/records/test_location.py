"""Places at URIs: read in ranges, listed in pages, tried again with words, and refused with a reason."""

from __future__ import annotations

import errno
import logging
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from object_store import Fault, ObjectStore, object_store

from records import filesystems, location
from records.location import BadURI, NotThere, Remote, Unreachable, is_partial, locate, remote

BIG = random.Random(1).randbytes(20 << 20)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(location, "_PAUSES_S", (0.0, 0.0))


def place(store: ObjectStore, name: str) -> Remote:
    found = locate(store.uri(f"lab/{name}"))
    assert isinstance(found, Remote)
    return found


def test_paths_and_file_uris_are_paths() -> None:
    assert locate("a/b.pcap") == Path("a/b.pcap")
    assert locate("file:///there/a%20b.pcap") == locate("file:/there/a%20b.pcap") == Path("/there/a b.pcap")
    assert locate(Path("s3:/a")) == Path("s3:/a")


@pytest.mark.parametrize(
    "text", ["s3://b/k", "s3://b/cell=a%3Db/x.pcap?scheme=http&region=r", "hdfs://host:9000/a", "abfs://c@d/a"]
)
def test_a_uri_is_its_own_text(text: str) -> None:
    found = locate(text)
    assert str(found) == text
    assert locate(str(found)) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("s3://key:hush@bucket/a", "seen by everybody"),
        ("s3://hush@bucket/a", "seen by everybody"),
        ("s3://key:with/hush@bucket/a", "seen by everybody"),
        ("abfs://box:hush@account/a", "seen by everybody"),
        ("s3://bucket/a?secret_key=hush", "no option secret_key"),
        ("abfs://c@a/x?sv=2022&sig=hush", "abfs://c@a/x: sig in a URI is seen by everybody"),
        ("abfs://c@a/x?client_secret=hush", "abfs://c@a/x: client_secret in a URI is seen by everybody"),
        ("abfs://c@a/x?tenant_id=1&account%5FKEY=hush&sas=hush", "account_KEY, sas in a URI is seen by everybody"),
        ("gs://b/a?access_token=hush", "access_token in a URI is seen by everybody"),
        ("hdfs://h/a?user=me&Password=hush", "Password in a URI is seen by everybody"),
        ("gs://b/a?credentials=hush", "credentials in a URI is seen by everybody"),
        ("s3://", "names no bucket"),
        ("file://elsewhere/a", "of this machine"),
    ],
)
def test_a_uri_that_cannot_be_used_is_refused_and_its_secrets_are_not_repeated(text: str, said: str) -> None:
    with pytest.raises(BadURI, match=said) as caught:
        locate(text)
    assert "hush" not in str(caught.value)


def test_a_range_costs_its_own_bytes_and_not_the_file(store: ObjectStore) -> None:
    store.objects["lab/big"] = BIG
    with place(store, "big").open() as file:
        assert file.size == len(BIG)
        assert file.load(5, 1005).tobytes() == BIG[5:1005]
    assert store.sent_bytes == 1000
    assert store.calls == {"head": 1, "get": 1}


def test_the_environment_names_the_server_where_the_uri_does_not(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{store.port}")
    store.objects["lab/a"] = b"a"
    assert Remote("s3", "lab/a").read_bytes() == b"a"


def test_a_scheme_that_nothing_reaches_is_refused() -> None:
    with pytest.raises(BadURI, match=r"ftp://host/a: .*ftp"):
        Remote("ftp", "host/a").is_file()


@pytest.mark.parametrize(
    "endpoint", ["localhost:9000", "127.0.0.1:9000", "localhost", "http://", "http://[::1", "ftp://localhost:9000"]
)
def test_an_endpoint_that_is_none_is_refused_with_what_it_should_be(
    endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(BadURI, match=r"^s3://lab/a: .*; an endpoint \(AWS_ENDPOINT_URL\) is one as https://HOST:PORT$"):
        Remote("s3", "lab/a").is_file()


def test_a_scheme_of_a_store_that_is_none_is_refused() -> None:
    with pytest.raises(BadURI, match=r"^s3://lab/a\?scheme=ftp: .*'ftp'"):
        Remote("s3", "lab/a", "scheme=ftp").is_file()


def test_a_long_read_is_several_calls_and_ends_with_the_file(store: ObjectStore) -> None:
    store.objects["lab/big"] = BIG
    store.latency_s = 0.01
    with place(store, "big").open() as file:
        assert file.load(1000, len(BIG) + 77).tobytes() == BIG[1000:]
        assert file.load(len(BIG), len(BIG) + 1).size == 0
    assert store.calls["get"] == 3


def test_what_breaks_off_in_the_middle_is_read_again_and_said(
    store: ObjectStore, at_once: None, caplog: pytest.LogCaptureFixture
) -> None:
    store.objects["lab/big"] = BIG
    store.faults = [Fault(kind="cut", after=100_000), Fault(kind=503)]
    with place(store, "big").open() as file, caplog.at_level(logging.WARNING, "airwire.location"):
        assert file.load(0, len(BIG)).tobytes() == BIG
    assert len(caplog.messages) == 2
    assert all("tried again" in line and "lab/big" in line for line in caplog.messages)
    assert store.calls["get"] == 3 + 2


def test_what_always_breaks_off_ends_in_a_reason(store: ObjectStore, at_once: None) -> None:
    store.objects["lab/big"] = BIG
    store.faults = [Fault(kind="cut", after=10, times=99)]
    with place(store, "big").open() as file, pytest.raises(Unreachable, match=r"lab/big.*3 times.*partial file"):
        file.load(0, 1000)


def test_a_stall_ends_after_its_time(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(filesystems.TIMEOUT, "1")
    monkeypatch.setattr(location, "_PAUSES_S", ())
    store.objects["lab/a"] = b"a" * 1000
    store.faults = [Fault(kind="stall", after=10)]
    with place(store, "a").open() as file, pytest.raises(Unreachable, match="no byte came for 1 s"):
        file.load(0, 1000)


def test_a_time_limit_that_is_none_is_refused(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(filesystems.TIMEOUT, "soon")
    with pytest.raises(BadURI, match="number of seconds"):
        place(store, "a").is_file()


def test_what_is_not_there_is_said_at_once(store: ObjectStore) -> None:
    assert not place(store, "none").is_file()
    for name in ("none", "../elsewhere/none"):
        with pytest.raises(NotThere, match="no such file"), place(store, name).open():
            pass
    with pytest.raises(NotThere):
        place(store, "none").size()
    assert place(store, "none").files() == {}
    place(store, "none").unlink()


def test_missing_rights_are_said_at_once_and_without_the_secret(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.objects["lab/a"] = b"a"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    filesystems._s3.cache_clear()
    for work in (place(store, "a").read_bytes, place(store, "").files, lambda: place(store, "b").write(b"b")):
        store.calls.clear()
        with pytest.raises(Unreachable, match=r"have no right.*AWS_ACCESS_KEY_ID") as caught:
            work()
        assert store.calls.total() == 1
        assert "a-secret" not in str(caught.value)


def test_a_server_that_does_not_answer_is_said(at_once: None) -> None:
    with pytest.raises(Unreachable, match=r"3 times.*onnect"):
        Remote("s3", "lab/a", "endpoint_override=127.0.0.1:1&scheme=http").read_bytes()


def test_a_listing_costs_a_call_for_each_page_and_none_for_each_file(store: ObjectStore) -> None:
    store.page_keys = 10
    names = {f"cell=a%3Db/trial-{n:03d}/x {m}.parquet": m for n in range(12) for m in range(3)}
    store.objects = {f"lab/c/{name}": b"x" * size for name, size in names.items()} | {"lab/cother": b""}
    assert place(store, "c").files() == names
    assert store.calls == {"list": 4}


def test_a_pattern_names_files_of_its_folders_alone(store: ObjectStore) -> None:
    for name in ("a/1.pcap", "a/2.pcap", "a/2.txt", "a/deep/3.pcap", "b/4.pcap"):
        store.objects[f"lab/{name}"] = b"x"
    found = {
        pattern: [one.path.removeprefix("lab/") for one in place(store, pattern).matching()]
        for pattern in ("a/*.pcap", "*/[14].pcap", "a/1.pcap", "a/none.pcap", "none/*")
    }
    assert found == {
        "a/*.pcap": ["a/1.pcap", "a/2.pcap"], "*/[14].pcap": ["a/1.pcap", "b/4.pcap"], "a/1.pcap": ["a/1.pcap"],
        "a/none.pcap": [], "none/*": [],
    }  # fmt: skip


def test_whoever_is_interrupted_leaves_no_part_of_a_file_under_its_name(store: ObjectStore, tmp_path: Path) -> None:
    source = tmp_path / "source"
    os.mkfifo(source)

    def feed() -> None:
        with source.open("wb") as out:
            out.write(BIG[:1000])
            out.flush()
            os.kill(os.getpid(), signal.SIGUSR1)
            out.write(BIG[1000:])

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    around = set(threading.enumerate())
    before = signal.signal(signal.SIGUSR1, interrupted)
    feeding = threading.Thread(target=feed)
    feeding.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            place(store, "big").write(source)
    finally:
        feeding.join()
        signal.signal(signal.SIGUSR1, before)
    for one in set(threading.enumerate()) - around:  # as Python does at its end
        if not one.daemon:
            one.join()
    assert store.objects["lab/big"] == BIG


def test_what_cannot_be_read_here_is_not_called_missing_there(store: ObjectStore, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="gone"):
        place(store, "new").write(tmp_path / "gone")
    assert "lab/new" not in store.objects


def test_a_folder_of_this_machine_is_written_and_read_like_a_store(tmp_path: Path) -> None:
    folder = remote(tmp_path / "a%20b #1")
    (folder / "c/d.bin").write(b"12345")
    source = tmp_path / "source"
    source.write_bytes(BIG)
    (folder / "big").write(source)
    assert folder.files() == {"c/d.bin": 5, "big": len(BIG)}
    assert (tmp_path / "a%20b #1" / "big").read_bytes() == BIG
    assert (folder / "c/d.bin").read_bytes() == b"12345"
    with (folder / "big").open() as file:
        assert file.load(10, 20).tobytes() == BIG[10:20]
    (folder / "c/d.bin").unlink()
    assert not (folder / "c/d.bin").is_file()


def test_a_source_that_cannot_be_read_leaves_no_part_of_a_file_in_a_folder(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Input/output error"):
        (remote(tmp_path) / "c/d.bin").write(Path("/proc/self/mem"))  # nothing is at its beginning
    assert list((tmp_path / "c").iterdir()) == []


def test_a_full_disk_has_its_room_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: None) -> None:
    seen: list[str] = []

    def full(source: object, out: Any) -> None:
        out.write(b"half")
        seen.extend(path.name for path in (tmp_path / "c").iterdir())
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(location, "_sent", full)
    with pytest.raises(Unreachable, match="No space left"):
        (remote(tmp_path) / "c/d.bin").write(b"half of it does not fit")
    assert list((tmp_path / "c").iterdir()) == []
    assert [is_partial(name) for name in seen] == [True] * len(seen) != []


def test_the_stores_of_tests_leave_neither_threads_nor_descriptors() -> None:
    """Some hundreds of tests run in one process, and no descriptor above 1,023 can be waited for by select(2)."""

    def used() -> None:
        with object_store() as store:
            place(store, "big").write(BIG)
            assert place(store, "big").read_bytes() == BIG

    def there() -> tuple[int, int]:
        return threading.active_count(), len(os.listdir("/proc/self/fd"))

    used()  # what the client has once and for all
    before = there()
    for _ in range(3):
        used()
    deadline = time.monotonic() + 60
    while (more := [now - then for now, then in zip(there(), before, strict=True)]) and max(more) > 0:
        assert time.monotonic() < deadline, more
        time.sleep(0.05)
