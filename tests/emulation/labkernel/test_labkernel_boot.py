"""Whether the lab kernel boots is tried, told, and remembered as long as nothing of it has changed."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from lab_kernels import PANICS, boots, faulty

from emulation.kernel import memo
from emulation.kernel.memo import place
from emulation.labkernel import Outcome, boot, check, shim
from emulation.labkernel.boot import TOPIC
from emulation.labkernel.installed import NO_PTRACE
from emulation.labkernel.machine import last_words

pytestmark = pytest.mark.labkernel

NOBODY = 65534


@pytest.fixture(autouse=True)
def note(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where it is remembered, in these tests."""
    monkeypatch.setattr(memo, "place", lambda topic: tmp_path / f"{topic}.json")
    monkeypatch.delenv(shim.VARIABLE, raising=False)
    return tmp_path / f"{TOPIC}.json"


@pytest.fixture
def one_core() -> Iterator[int]:
    """The only core that this process has for the moment."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield min(before)
    os.sched_setaffinity(0, before)


@boots
def test_what_has_booted_is_not_booted_again_until_something_changes(
    monkeypatch: pytest.MonkeyPatch, note: Path
) -> None:
    assert check(wait_s=100).outcome is Outcome.BOOTS
    monkeypatch.setattr(boot, "command", lambda *_, **__: ["false"])  # what is booted from here on fails
    assert check().outcome is Outcome.BOOTS
    monkeypatch.setenv(shim.VARIABLE, "off" if shim.chosen(os.environ) else "on")  # some processors need it
    assert check().outcome is Outcome.FAILS
    monkeypatch.delenv(shim.VARIABLE)
    assert check().outcome is Outcome.BOOTS
    note.write_text(json.dumps(json.loads(note.read_text()) | {"boot": "an earlier start of the machine"}))
    assert check().outcome is Outcome.FAILS


@boots
def test_a_kernel_that_does_not_boot_is_told_with_its_last_words_and_its_cure_and_tried_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, note: Path
) -> None:
    with monkeypatch.context() as broken:
        broken.setenv("PATH", faulty(tmp_path / "bin", *PANICS)["PATH"])
        found = check(wait_s=100)
        assert found.outcome is Outcome.FAILS
        reason, *words = found.why.splitlines()
        assert "Attempted to kill init! exitcode=0x0000000b, after: userspace - ptrace set fp regs failed" in reason
        assert "make setup" in reason
        assert words[-1].endswith("Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b")
        assert not note.exists()
    assert check(wait_s=100).outcome is Outcome.BOOTS


def test_a_kernel_that_is_not_there_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    found = check()
    assert found.outcome is Outcome.ABSENT
    assert "apt-get install user-mode-linux" in found.why


@boots
def test_a_wrong_switch_fails_before_anything_is_booted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(shim.VARIABLE, "maybe")
    assert check() == boot.Boot(Outcome.FAILS, "AIRWIRE_LAB_SHIM='maybe' is not one of auto, on, off")


@boots
def test_with_every_core_taken_it_is_not_tried(one_core: int, note: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock:
        with suppress(OSError):  # another lab kernel has it, which does as well
            lock.bind(f"\0airwire-lab-kernel-{one_core}")
        found = check(wait_s=0.1)
    assert found.outcome is Outcome.UNTRIED
    assert f"other lab kernels have had core {one_core}" in found.why
    assert not note.exists()


def test_an_ordinary_users_note_is_in_a_folder_of_that_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert place(TOPIC) == Path("/run/airwire-labkernel.json")
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # of another user, as after `su`
    monkeypatch.setattr(tempfile, "tempdir", "/elsewhere")
    assert place(TOPIC) == Path(f"/elsewhere/airwire-labkernel-{NOBODY}.json")
    os.chown(tmp_path, NOBODY, -1)
    assert place(TOPIC) == tmp_path / "airwire-labkernel.json"


def test_a_note_is_kept_for_its_user_alone(note: Path) -> None:
    assert memo.recall(TOPIC) is None
    memo.keep(TOPIC, {"a": "b"})
    memo.keep(TOPIC, {"a": "c"})
    assert memo.recall(TOPIC) == {"a": "c"}
    assert note.stat().st_mode & 0o777 == 0o600
    assert list(note.parent.iterdir()) == [note]


def test_a_note_that_another_may_have_written_is_not_believed(note: Path, tmp_path: Path) -> None:
    memo.keep(TOPIC, {"a": "b"})
    note.chmod(0o666)
    assert memo.recall(TOPIC) is None
    note.chmod(0o600)
    assert memo.recall(TOPIC) == {"a": "b"}
    if not os.geteuid():
        os.chown(note, NOBODY, NOBODY)
        assert memo.recall(TOPIC) is None
        os.chown(note, 0, 0)
    note.rename(tmp_path / "planted")
    note.symlink_to(tmp_path / "planted")
    assert memo.recall(TOPIC) is None
    memo.keep(TOPIC, {"a": "d"})
    assert not note.is_symlink()
    assert json.loads((tmp_path / "planted").read_text()) == {"a": "b"}


@pytest.mark.parametrize("text", ["", "{", "[1]", "[" * 4000, "\0"])
def test_a_damaged_note_is_none(note: Path, text: str) -> None:
    note.write_text(text)
    note.chmod(0o600)
    assert memo.recall(TOPIC) is None


def test_a_fifo_in_the_notes_place_holds_nobody_up(note: Path) -> None:
    os.mkfifo(note, 0o600)
    assert memo.recall(TOPIC) is None


def test_without_a_folder_nothing_is_remembered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memo, "place", lambda topic: tmp_path / "no" / topic)
    memo.keep(TOPIC, {"a": "b"})
    assert memo.recall(TOPIC) is None


AMX = """mmapper_init - find_iomem failed
Failed to initialize ubd device 0 :Couldn't determine size of device's file
userspace - ptrace set fp regs failed, errno = 14
Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b
CPU: 0 PID: 1 Comm: init.sh Not tainted 6.1.176 #1
Stack:
 606944ba 607e7fcd 80c8bb90 6067bb96
Call Trace:
 [<606944ba>] ? _printk+0x0/0x94
"""


def test_a_panic_is_told_by_the_panics_own_line_and_the_one_before_it() -> None:
    reason, *words = last_words(AMX).splitlines()
    assert reason.startswith(
        "kernel panic: Attempted to kill init! exitcode=0x0000000b, "
        "after: userspace - ptrace set fp regs failed, errno = 14; "
    )
    assert "make setup" in reason
    assert "AIRWIRE_LAB_SHIM=on" in reason
    assert NO_PTRACE not in reason
    assert [word.strip() for word in words] == ["last lines of its console:", *AMX.splitlines()[2:4]]


@pytest.mark.parametrize(
    ("console", "cured"),
    [
        ("start_userspace : ptrace failed: Operation not permitted", True),
        ("Permission denied: ptrace", True),
        ("userspace - ptrace set regs failed, errno = 3", False),
        ("ptrace_dump_regs failed, errno = 14", False),
    ],
)
def test_ptrace_is_blamed_where_the_console_itself_says_that_it_is_not_permitted(console: str, cured: bool) -> None:
    assert (NO_PTRACE in last_words(f"{console}\nKernel panic - not syncing: something\n")) is cured


def test_a_console_without_a_panic_has_no_reason() -> None:
    assert last_words("").splitlines() == ["its console has no reason", "  last lines of its console:", "  (none)"]
    assert last_words("Kernel panic - not syncing: alone").startswith("kernel panic: alone\n")
