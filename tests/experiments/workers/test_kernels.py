"""Which kernel a profile is given to."""

from __future__ import annotations

import os

import pytest

from emulation.labkernel import Boot, Outcome
from emulation.plan.stages import Feature
from emulation.profile import library
from experiments.workers.kernels import Kernels, NotPossible, Wanted

EVERYTHING = dict.fromkeys(Feature, "")
NO_NETEM = EVERYTHING | {Feature.NETEM: "unknown", Feature.TUN: "unknown"}  # and no line that could do without


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choosing needs no root, but knows who may build networks."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def kernels(wanted: Wanted, *, host: dict[Feature, str], no_lab: str = "") -> Kernels:
    made = Kernels(wanted=wanted)
    made.__dict__.update({"host_features": host, "no_lab": no_lab})
    return made


def test_the_own_kernel_is_preferred_when_it_can() -> None:
    assert kernels("auto", host=EVERYTHING).choose(library.load("lte"), stations=1).kernel == "host"
    assert kernels("auto", host=NO_NETEM).choose(library.load("nistnet-80211"), stations=1).kernel == "host"


def test_what_the_own_kernel_lacks_is_done_in_the_lab_kernel() -> None:
    assert kernels("auto", host=NO_NETEM).choose(library.load("lte"), stations=1).kernel == "lab"
    assert kernels("lab", host=EVERYTHING).choose(library.load("nistnet-80211"), stations=1).kernel == "lab"


def test_an_ordinary_user_has_the_lab_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert kernels("auto", host=EVERYTHING).choose(library.load("nistnet-80211"), stations=1).kernel == "lab"


@pytest.mark.parametrize(
    ("boot", "chosen"),
    [
        (Boot(Outcome.BOOTS), "lab"),
        (Boot(Outcome.UNTRIED, "other lab kernels have had core 0 for 10 s"), "lab"),
        (Boot(Outcome.FAILS, "kernel panic: something"), None),
        (Boot(Outcome.ABSENT, "not installed"), None),
    ],
    ids=str,
)
def test_a_lab_kernel_that_does_not_boot_is_not_chosen_but_one_that_is_busy_is(boot: Boot, chosen: str | None) -> None:
    asked = Kernels(wanted="auto")
    asked.__dict__.update({"host_features": NO_NETEM, "lab": boot})
    if chosen:
        assert asked.choose(library.load("lte"), stations=1).kernel == chosen
    else:
        with pytest.raises(NotPossible, match=f"no netem.*{boot.why}"):
            asked.choose(library.load("lte"), stations=1)


def test_the_lab_kernel_is_not_booted_for_what_the_own_kernel_can_do() -> None:
    asked = Kernels(wanted="auto")
    asked.__dict__.update({"host_features": EVERYTHING})
    assert asked.choose(library.load("lte"), stations=1).kernel == "host"
    assert "lab" not in asked.__dict__


@pytest.mark.parametrize(
    ("wanted", "profile", "no_lab", "said"),
    [
        ("host", "lte", "", r"no netem.*the lab kernel could: run with --kernel lab"),
        ("auto", "5g", "", r"no netem.*lab kernel .* can shape 50 Mbit/s at most"),
        ("auto", "lte", "not installed: apt-get install user-mode-linux", r"no netem.*user-mode-linux"),
        ("lab", "wireline-1g", "", r"can shape 50 Mbit/s at most, and profile 'wireline-1g' has 1000"),
    ],
)
def test_what_no_kernel_can_do_is_refused_with_every_reason(
    wanted: Wanted, profile: str, no_lab: str, said: str
) -> None:
    with pytest.raises(NotPossible, match=said):
        kernels(wanted, host=NO_NETEM, no_lab=no_lab).choose(library.load(profile), stations=1)
