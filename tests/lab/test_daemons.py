"""A service does not start by being installed, nobody's policy is overwritten, and what a killed set-up left goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from lab import daemons
from records.errors import CannotGoOn

ROOT = Path(__file__).parents[2]
THEIRS = "#!/bin/sh\nexit {}\n"


class Place:
    """A policy and a lock in a folder of the test's."""

    def __init__(self, folder: Path) -> None:
        self.policy, self.lock = folder / "policy-rc.d", folder / "lock"

    def kept(self, *services: str) -> AbstractContextManager[int]:
        return daemons.kept_from_starting(services, policy=self.policy, lock=self.lock)

    def theirs(self, status: int) -> str:
        self.policy.write_text(THEIRS.format(status))
        self.policy.chmod(0o755)
        return self.policy.read_text()

    def answer(self) -> int:
        return subprocess.run([self.policy, "mosquitto", "start"], check=False).returncode

    def others(self) -> set[str]:
        return {path.name for path in self.policy.parent.iterdir()} - {"lock"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_while_a_daemon_is_installed_no_service_starts(place: Place) -> None:
    with place.kept("mosquitto"):
        assert place.answer() == 101
        assert daemons.left_over(place.policy)
    assert place.others() == set()


def test_the_policy_goes_when_installing_fails(place: Place) -> None:
    with pytest.raises(KeyError), place.kept("mosquitto"):
        raise KeyError
    assert place.others() == set()


def test_without_daemons_there_is_no_policy(place: Place) -> None:
    with place.kept():
        assert place.others() == set()


@pytest.mark.parametrize("services", [(), ("mosquitto",)])
def test_what_a_killed_set_up_left_is_healed_by_the_next(place: Place, services: tuple[str, ...]) -> None:
    killed = (
        "import os, signal, sys; from pathlib import Path; from lab.daemons import kept_from_starting as kept\n"
        "with kept(['mosquitto'], policy=Path(sys.argv[1]), lock=Path(sys.argv[2])): os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", killed, place.policy, place.lock], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert daemons.left_over(place.policy)
    with place.kept(*services):
        assert daemons.left_over(place.policy) == bool(services)
    assert place.others() == set()


def test_half_a_policy_is_never_in_force(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("as if killed")

    with monkeypatch.context() as broken:
        broken.setattr(os, "link", fail)
        with pytest.raises(OSError, match="as if killed"), place.kept("mosquitto"):
            pass
        assert not place.policy.exists()
    with place.kept():
        assert place.others() == set()


def test_somebody_elses_policy_that_forbids_stays_and_is_enough(place: Place) -> None:
    before = place.theirs(101)
    with place.kept("mosquitto"):
        assert place.policy.read_text() == before
    assert place.policy.read_text() == before


@pytest.mark.parametrize("status", [0, 104])
def test_somebody_elses_policy_that_allows_stays_and_what_to_do_is_said(place: Place, status: int) -> None:
    before = place.theirs(status)
    said = r"policy-rc\.d is somebody else's .* mosquitto .*; move it away and repeat, or .* systemctl disable --now"
    with pytest.raises(CannotGoOn, match=said), place.kept("mosquitto"):
        pytest.fail("it would have been installed")
    assert place.policy.read_text() == before


def test_a_link_that_leads_nowhere_is_somebody_elses(place: Place) -> None:
    place.policy.symlink_to("nowhere")
    with pytest.raises(CannotGoOn, match="somebody else's"), place.kept("mosquitto"):
        pytest.fail("it would have been installed")
    assert place.policy.is_symlink()
