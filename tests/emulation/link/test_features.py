from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from emulated_links import profile

from emulation.kernel import kernel
from emulation.link import features
from emulation.plan.stages import Feature, needed, stages, top_rate
from emulation.profile import library

FIXTURES = Path(__file__).parents[2] / "fixtures"


def test_a_kernel_with_every_feature_can_do_the_library_up_to_its_ceiling() -> None:
    available = dict.fromkeys(Feature, "")
    for name in library.names():
        profile = library.load(name)
        assert features.missing(profile, available, "host") == ""
        too_fast = top_rate(profile) > kernel.CEILING["lab"]
        assert bool(features.missing(profile, available, "lab")) == too_fast


@pytest.mark.root
def test_this_kernel_can_do_what_needs_no_netem() -> None:
    available = features.probe()
    for name in library.names():
        profile = library.load(name)
        if Feature.NETEM not in needed(profile):
            assert features.missing(profile, available, "host") == ""


def test_a_rate_above_what_a_kernel_can_shape_is_refused_by_name() -> None:
    why = features.missing(library.load("wireline-1g"), dict.fromkeys(Feature, ""), "lab")
    assert re.search(r"50 Mbit/s at most, and profile 'wireline-1g' has 1000 Mbit/s", why)


def test_a_missing_feature_is_named_with_what_needs_it_and_what_brings_it() -> None:
    far = library.load("profile.yaml", beside=FIXTURES / "profile-needs-netem")
    available = dict.fromkeys(Feature, "") | {Feature.NETEM: "No such file or directory"}
    why = features.missing(far, available, "host")
    assert re.search(r"no netem, which profile 'far-away' needs for uplink delay.*sch_netem", why)


AT_ONCE = {"burst_bytes": 20_000}


@pytest.mark.parametrize(
    "settings",
    [
        AT_ONCE,
        {"downlink": AT_ONCE},
        {"stations": {"sta2": {"uplink": AT_ONCE}}},
        {"timeline": [{"at": 1, "change": {"uplink": AT_ONCE}}]},
    ],
    ids=["always", "one way", "a station's own", "from a change on"],
)
def test_what_may_pass_at_once_at_any_time_is_refused_by_the_line_with_the_way_out(settings: dict[str, Any]) -> None:
    available = dict.fromkeys(Feature, "")
    assert features.missing(profile(rate=1e6, **settings), available, "host", "line") == (
        "cannot do by the line what profile 'made' asks: burst_bytes (its air gives out no frame before it has been "
        "sent); tc can: use --medium tc, or leave that out of the profile"
    )
    assert features.missing(profile(rate=1e6, **settings), available, "host", "tc") == ""
    assert features.missing(profile(rate=1e6), available, "host", "line") == ""


@pytest.mark.parametrize("feature", [Feature.HTB, Feature.IFB, Feature.REDIRECT, Feature.NFT_BRIDGE, Feature.BRIDGE])
def test_every_feature_that_a_shaped_link_uses_is_required(feature: Feature) -> None:
    available = dict.fromkeys(Feature, "") | {feature: "gone"}
    assert feature.value in features.missing(library.load("nistnet-80211"), available, "host")


def test_stages_come_from_what_the_profile_says() -> None:
    assert [(stage.kind, stage.direction) for stage in stages(library.load("nistnet-80211"))] == [
        ("rate", "uplink"),
        ("loss", "uplink"),
        ("rate", "downlink"),
        ("loss", "downlink"),
    ]
    assert Feature.NETEM not in needed(library.load("wireline-100m"))


@pytest.mark.root
def test_probing_leaves_no_interface_behind() -> None:
    before = sorted(path.name for path in Path("/sys/class/net").iterdir())
    features.probe()
    assert sorted(path.name for path in Path("/sys/class/net").iterdir()) == before
