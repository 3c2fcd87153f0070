"""What the line needs of a kernel, whatever a profile asks."""

from __future__ import annotations

import os

import pytest

from emulation.kernel import system
from emulation.kernel.namespace import KernelError
from emulation.link import features
from emulation.plan.stages import ACCESS_POINT, CURE, LINE, Feature, needed
from emulation.profile import library

EVERYTHING = dict.fromkeys(Feature, "")


def test_every_profile_needs_the_same_of_a_kernel_when_the_line_makes_its_link() -> None:
    for name in library.names():
        assert set(needed(library.load(name), "line")) == ACCESS_POINT | LINE
        assert not set(needed(library.load(name))) & {Feature.TUN, Feature.REALTIME, Feature.HOOKS}


def test_every_feature_has_a_cure() -> None:
    assert set(CURE) == set(Feature)


@pytest.mark.parametrize("feature", sorted(LINE))
def test_what_the_line_lacks_is_named_with_its_answer_and_its_cure(feature: Feature) -> None:
    lte = library.load("lte")
    why = features.missing(lte, EVERYTHING | {feature: "the answer"}, "host", "line")
    assert why == f"has no {feature}, which profile 'lte' needs for the line (the answer): {CURE[feature]}"
    assert features.missing(lte, EVERYTHING | {feature: "the answer"}, "host") == ""


def test_the_line_needs_no_netem() -> None:
    assert features.missing(library.load("lte"), EVERYTHING | {Feature.NETEM: "unknown"}, "host", "line") == ""


@pytest.mark.root
def test_a_kernel_is_asked_for_a_tap_by_making_one(monkeypatch: pytest.MonkeyPatch) -> None:
    before = features.probe()
    if before[Feature.TUN]:
        pytest.skip("there is no /dev/net/tun here")
    assert not os.path.exists("/sys/class/net/probe-tap"), "it was made in a namespace of its own, and is gone"
    monkeypatch.setattr(system, "_TUN", "/dev/net/no-such")
    found = features.probe()
    assert found == before | {Feature.TUN: "No such file or directory"}


@pytest.mark.root
def test_a_kernel_is_asked_for_the_real_time_class_without_taking_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    features.probe()
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
    monkeypatch.setattr(os, "sched_setscheduler", refused)
    assert features.probe()[Feature.REALTIME] == "Operation not permitted"


@pytest.mark.root
def test_without_a_device_the_line_itself_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_TUN", "/dev/net/no-such")
    with pytest.raises(
        KernelError, match="for the line: No such file or directory; load it with: modprobe tun, or use"
    ):
        system.tap("never")
