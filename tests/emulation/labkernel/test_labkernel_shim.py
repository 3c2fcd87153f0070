"""The lab kernel's shim: where it is used, how it is built, and what becomes of the kernel with it and without."""

from __future__ import annotations

import ctypes
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from lab_kernels import ROOT, boots, environment, family, faulty, lab, running

from emulation.labkernel import shim, shim_build
from emulation.labkernel.installed import LabKernelError
from emulation.labkernel.xstate import xstate_bytes

pytestmark = pytest.mark.labkernel

AMX_BYTES, NOBODY = 11008, 65534
HOST = ROOT / "tests/fixtures/large-xstate-host/host.c"
on_x86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="this is about x86-64")


@pytest.mark.parametrize(
    ("switch", "size", "used"),
    [
        ("auto", 0, False),
        ("auto", 832, False),
        ("auto", 2696, False),
        ("auto", 2697, True),
        ("auto", AMX_BYTES, True),
        ("on", 832, True),
        ("on", AMX_BYTES, True),
        ("off", 832, False),
        ("off", AMX_BYTES, False),
    ],
)
def test_the_shim_is_used_where_registers_need_more_room_than_the_kernel_has(
    switch: str, size: int, used: bool
) -> None:
    assert shim.wanted(switch, size) is used


@on_x86
def test_a_switch_that_is_set_spares_the_measurement(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def measure() -> int:
        raise AssertionError("measured")

    monkeypatch.setattr(shim, "path", lambda: HOST)
    assert shim.chosen({shim.VARIABLE: "off"}, measure=measure) is None
    assert shim.chosen({shim.VARIABLE: "on"}, measure=measure) == HOST
    assert shim.chosen({}, measure=lambda: AMX_BYTES) == HOST
    assert shim.chosen({shim.VARIABLE: ""}, measure=lambda: 832) is None


def test_a_switch_has_three_positions() -> None:
    with pytest.raises(LabKernelError, match="AIRWIRE_LAB_SHIM='yes' is not one of auto, on, off"):
        shim.chosen({shim.VARIABLE: "yes"})


@pytest.mark.parametrize(
    ("switch", "reason"), [("on", "AIRWIRE_LAB_SHIM=on asks for"), ("auto", "this processor's 11,008 bytes")]
)
def test_a_shim_that_is_needed_and_not_built_is_told_with_its_cure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, switch: str, reason: str
) -> None:
    monkeypatch.setattr(shim, "path", lambda: tmp_path / "none.so")
    with pytest.raises(LabKernelError, match=f"{reason}.*none.so.*make setup"):
        shim.chosen({shim.VARIABLE: switch}, measure=lambda: AMX_BYTES)


@on_x86
def test_the_size_is_that_of_this_processor_and_asking_leaves_no_process() -> None:
    flags = set(re.findall(r"\w+", Path("/proc/cpuinfo").read_text().partition("\nflags")[2].partition("\n")[0]))
    before = psutil.Process().children()
    size = xstate_bytes()
    assert (size > shim.ROOM_BYTES) == ("amx_tile" in flags)
    assert size >= (832 if "avx" in flags else 576 if "xsave" in flags else 0)
    assert psutil.Process().children() == before


@on_x86
def test_ptrace_that_is_not_permitted_is_told() -> None:
    program = "from emulation.labkernel.xstate import xstate_bytes; xstate_bytes()"
    # Who is traced already cannot be traced by us.
    command = ["strace", "-f", "-o", os.devnull, sys.executable, "-c", program]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False
    )
    assert done.returncode == 1
    assert "LabKernelError: the lab kernel needs ptrace, which is not permitted here" in done.stderr
    assert "Operation not permitted" in done.stderr


@on_x86
def test_the_shim_is_built_once_for_each_source_and_all_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "build"
    before = os.umask(0o077)
    try:
        built = shim_build.build(folder)
    finally:
        os.umask(before)
    assert ctypes.CDLL(str(built)).ptrace
    assert stat.S_IMODE(built.stat().st_mode) == 0o644
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    made = built.stat().st_ino
    assert shim_build.build(folder).stat().st_ino == made

    source = tmp_path / "xstate.c"
    source.write_text(shim.SOURCE.read_text() + "\n")
    monkeypatch.setattr(shim, "SOURCE", source)
    assert shim_build.build(folder) != built


@on_x86
def test_what_cannot_be_built_is_told_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source, folder = tmp_path / "xstate.c", tmp_path / "build"
    source.write_text("long ptrace(int request) { return missing_bracket(; }")
    with monkeypatch.context() as patch:
        patch.setattr(shim, "SOURCE", source)
        with pytest.raises(LabKernelError, match=r"tcc cannot build the lab kernel's shim: .*xstate.c:1"):
            shim_build.build(folder)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(LabKernelError, match="apt-get install tcc"):
        shim_build.build(folder)
    assert list(folder.iterdir()) == []


@boots
def test_the_forced_shim_is_in_the_kernels_process_and_nowhere_in_the_guest(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(shim.VARIABLE, "on")
    library = str(shim.path().resolve())  # as the kernel names what is mapped
    script = "echo ready; read line; env; cat /proc/[0-9]*/environ /proc/[0-9]*/maps"
    with running(scratch, "sh", "-c", script) as process:
        kernel = next(one for one in family(process.pid) if "linux.uml" in Path(one.exe()).name)
        assert library in {row.path for row in kernel.memory_maps()}
        guest, _ = process.communicate(b"\n", timeout=120)
    assert process.returncode == 0
    assert b"libc" in guest  # what the guest's processes have mapped was seen
    assert b"LD_PRELOAD" not in guest
    assert Path(library).name.encode() not in guest


@boots
def test_an_ordinary_user_has_the_shim_that_root_has_built(scratch: Path) -> None:
    if os.geteuid() or not ROOT.stat().st_mode & stat.S_IXOTH or ROOT.is_relative_to("/root"):
        pytest.skip("needs root, and a project folder that everybody may read")
    done = lab(scratch, "id", "-u", user=NOBODY, AIRWIRE_LAB_SHIM="on")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"0\n", b"")


@boots
def test_without_the_shim_the_kernel_boots_where_it_has_room_enough(scratch: Path) -> None:
    if (size := xstate_bytes()) > shim.ROOM_BYTES:
        pytest.skip(f"with {size} bytes of registers it panics without the shim")
    done = lab(scratch, "echo", "up", AIRWIRE_LAB_SHIM="off")
    assert (done.returncode, done.stdout) == (0, b"up\n")


@boots
def test_on_a_host_with_large_registers_the_kernel_panics_and_the_shim_saves_it(scratch: Path, tmp_path: Path) -> None:
    host = tmp_path / "host.so"
    subprocess.run(["tcc", "-shared", "-nostdlib", "-o", host, HOST], check=True)
    preload = f'LD_PRELOAD="${{LD_PRELOAD:+$LD_PRELOAD:}}{host}" exec /usr/bin/linux.uml "$@"'
    path = faulty(tmp_path / "bin", preload)["PATH"]
    without = lab(scratch, "true", AIRWIRE_LAB_SHIM="off", PATH=path)
    assert without.returncode == 125
    said = b"kernel panic: Attempted to kill init! exitcode=0x0000000b, after: userspace - ptrace set fp regs failed"
    assert said in without.stderr
    assert b"make setup" in without.stderr
    assert b"SYS_PTRACE" not in without.stderr
    rescued = lab(scratch, "echo", "up", AIRWIRE_LAB_SHIM="on", PATH=path)
    assert (rescued.returncode, rescued.stdout) == (0, b"up\n")


VECTORS = [sys.executable, str(Path(__file__).parents[2] / "support" / "vector_registers.py")]


WHOLE = "memcpy(whole, small->base, count);"


@boots
@pytest.mark.parametrize(("copies", "keeps"), [(WHOLE, True), ("memcpy(whole, small->base, 576);", False)])
def test_a_shim_that_loses_the_upper_halves_of_vector_registers_is_found_out_and_ours_keeps_them(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, copies: str, keeps: bool
) -> None:
    source = tmp_path / "xstate.c"
    assert WHOLE in shim.SOURCE.read_text()
    source.write_text(shim.SOURCE.read_text().replace(WHOLE, copies))
    monkeypatch.setattr(shim, "SOURCE", source)
    program = f"""import sys
from pathlib import Path
from emulation.labkernel import __main__, shim
shim.path = lambda: Path({str(shim_build.build(tmp_path))!r})
sys.argv = ["lab kernel", "--", *{VECTORS!r}]
sys.exit(__main__.main())"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(scratch) | {shim.VARIABLE: "on"}, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    # What is lost may be the program's that is asked, or what the guest itself needs to come up.
    assert ((done.returncode, done.stdout) == (0, b"0 of 75\n")) == keeps, done.stderr
