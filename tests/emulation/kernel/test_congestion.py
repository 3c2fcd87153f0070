from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from emulation.kernel import congestion
from emulation.kernel.congestion import ALLOWED, allowed
from emulation.kernel.namespace import KernelError, read_sysctl, write_sysctl

pytestmark = [pytest.mark.root, pytest.mark.alone]


@pytest.fixture(autouse=True)
def reno_alone() -> Iterator[None]:
    """Of what this kernel has only one is allowed, so that there is another one."""
    before = read_sysctl(ALLOWED)
    write_sysctl(ALLOWED, "reno")
    try:
        yield
    finally:
        write_sysctl(ALLOWED, before)


def extra() -> str:
    """A congestion control that this kernel has and does not allow."""
    return min(set(read_sysctl(congestion.AVAILABLE).split()) - {"reno"})


def test_the_list_is_extended_and_put_back() -> None:
    before, name = read_sysctl(ALLOWED), extra()
    with allowed({name}):
        assert name in read_sysctl(ALLOWED).split()
    assert read_sysctl(ALLOWED) == before


def test_the_last_of_two_holders_puts_it_back() -> None:
    before, name = read_sysctl(ALLOWED), extra()
    with allowed({name}):
        with allowed({name}):
            pass
        assert name in read_sysctl(ALLOWED).split()
    assert read_sysctl(ALLOWED) == before


def test_a_killed_holder_is_swept_up_after() -> None:
    before, name = read_sysctl(ALLOWED), extra()
    holder = (
        "import os, signal\n"
        "from emulation.kernel.congestion import allowed\n"
        f"with allowed({{{name!r}}}): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", holder], check=False).returncode == -9
    assert json.loads(congestion.STATE.read_text())["holders"]
    congestion.sweep()
    assert read_sysctl(ALLOWED) == before
    assert not congestion.STATE.exists()


def test_a_congestion_control_that_the_kernel_lacks_is_named() -> None:
    with pytest.raises(KernelError, match="no TCP congestion control warp"), allowed({"warp"}):
        pass
