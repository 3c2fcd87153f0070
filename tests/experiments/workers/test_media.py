"""Which medium makes a link on which kernel: what the machine has, what the profile asks, what the user wants."""

from __future__ import annotations

import os
import re

import pytest
from emulated_links import profile

from emulation.plan.stages import Feature, needed
from emulation.profile import library
from emulation.profile.media import WantedMedium
from experiments.workers.kernels import Kernels, NotPossible, Wanted
from experiments.workers.place import Place

EVERYTHING = dict.fromkeys(Feature, "")
NO_NETEM = EVERYTHING | {Feature.NETEM: "unknown"}
NO_TUN = NO_NETEM | {Feature.TUN: "No such file or directory"}
NO_FIFO = NO_NETEM | {Feature.REALTIME: "Operation not permitted"}
TC, LINE, LAB = Place("host", "tc"), Place("host", "line"), Place("lab", "tc")


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def kernels(
    medium: WantedMedium, host: dict[Feature, str] = NO_NETEM, *, wanted: Wanted = "auto", no_lab: str = ""
) -> Kernels:
    made = Kernels(wanted=wanted, medium=medium)
    made.__dict__.update({"host_features": host, "no_lab": no_lab})
    return made


def chosen(asked: Kernels, name: str, stations: int = 1, medium: WantedMedium = "auto") -> Place:
    return asked.choose(library.load(name), stations=stations, medium=medium)


@pytest.mark.parametrize(
    ("medium", "host", "name", "stations", "place"),
    [
        ("auto", EVERYTHING, "lte", 1, TC),
        ("auto", EVERYTHING, "nistnet-80211", 4, TC),
        ("auto", EVERYTHING, "wireline-1g", 2, TC),
        ("auto", NO_NETEM, "wireline-1g", 2, TC),
        ("auto", NO_NETEM, "nistnet-80211", 4, LINE),
        ("auto", NO_NETEM, "lte", 6, LINE),
        ("auto", NO_NETEM, "lte", 7, LAB),
        ("auto", NO_NETEM, "5g", 1, LINE),
        ("auto", NO_NETEM, "wireline-100m", 1, LINE),
        ("auto", NO_NETEM, "wireline-100m", 2, TC),
        ("auto", NO_NETEM, "wireline-100m", 3, TC),
        ("auto", NO_FIFO, "nistnet-80211", 4, TC),
        ("auto", NO_FIFO, "lte", 1, LAB),
        ("auto", EVERYTHING | {Feature.HTB: "gone"}, "lte", 1, LINE),
        ("auto", NO_TUN, "nistnet-80211", 4, TC),
        ("auto", NO_TUN, "lte", 1, LAB),
        ("line", NO_NETEM, "lte", 6, LINE),
        ("line", EVERYTHING, "lte", 6, LINE),
        ("line", NO_NETEM, "wireline-100m", 2, LINE),
        ("tc", NO_NETEM, "nistnet-80211", 4, TC),
        ("tc", NO_NETEM, "lte", 1, LAB),
        ("tc", EVERYTHING, "lte", 1, TC),
    ],
)
def test_the_medium_follows_from_kernel_profile_and_stations(
    medium: WantedMedium, host: dict[Feature, str], name: str, stations: int, place: Place
) -> None:
    assert chosen(kernels(medium, host), name, stations) == place


def test_turns_that_tc_cannot_take_are_the_lines_even_where_there_is_netem() -> None:
    one = library.load("nistnet-80211").model_copy(update={"turns": "airtime"})
    for host in (EVERYTHING, NO_NETEM):
        assert kernels("auto", host).choose(one, stations=2) == LINE
    for medium, host, wanted in (("tc", EVERYTHING, "host"), ("auto", NO_TUN, "auto"), ("auto", EVERYTHING, "lab")):
        with pytest.raises(NotPossible, match=r"cannot do with tc what profile 'nistnet-80211' asks: turns: airtime"):
            kernels(medium, host, wanted=wanted).choose(one, stations=2)  # type: ignore[arg-type]


@pytest.mark.parametrize(("jitter", "kind"), [(2.2, "uniform"), (2.2, "normal"), (0.4, "pareto")])
def test_a_jitter_beyond_what_netem_can_count_is_the_lines(jitter: float, kind: str) -> None:
    one = profile(rate=1e6, delay=3, jitter=jitter, jitter_distribution=kind)
    assert kernels("auto", EVERYTHING).choose(one, stations=2) == LINE
    with pytest.raises(NotPossible, match=r"asks: a jitter of 2\.\d+ s \(netem's ends at 2\.15 s"):
        kernels("tc", EVERYTHING).choose(one, stations=2)
    less = profile(rate=1e6, delay=3, jitter=jitter * 0.9, jitter_distribution=kind)
    assert kernels("tc", EVERYTHING).choose(less, stations=2) == TC


def test_what_may_pass_at_once_is_tcs_even_where_the_line_comes_first() -> None:
    near, far = (profile(rate=1e6, burst_bytes=20_000, delay=delay) for delay in (0, 0.01))
    for host in (EVERYTHING, NO_NETEM):
        assert kernels("auto", host).choose(near, stations=2) == kernels("tc", host).choose(near, stations=2) == TC
    assert kernels("auto", NO_NETEM).choose(profile(rate=1e6), stations=2) == LINE
    assert kernels("auto", EVERYTHING).choose(far, stations=2) == TC
    assert kernels("auto", NO_NETEM).choose(far, stations=2) == LAB
    with pytest.raises(NotPossible, match=r"asks: burst_bytes .*no netem.*not installed"):
        kernels("auto", NO_NETEM, no_lab="not installed").choose(far, stations=2)


def test_a_scenario_insists_as_the_command_line_does() -> None:
    assert chosen(kernels("auto"), "nistnet-80211", 2, "line") == LINE
    assert chosen(kernels("line"), "nistnet-80211", 2, "line") == LINE
    with pytest.raises(NotPossible, match=r"'lte': --medium tc, but the scenario says medium: line; leave one"):
        chosen(kernels("tc"), "lte", 2, "line")


def test_what_a_scenario_insists_on_is_not_talked_out_of() -> None:
    with pytest.raises(NotPossible) as caught:
        chosen(kernels("auto", NO_TUN), "nistnet-80211", 1, "line")
    assert "--medium" not in str(caught.value).replace("use --medium tc", "")


def test_all_of_the_library_but_the_fastest_has_all_it_asks_on_a_kernel_without_netem() -> None:
    places = {name: chosen(kernels("auto", no_lab="not installed"), name) for name in library.names()}
    assert {name: place for name, place in places.items() if place != LINE} == {"wireline-1g": TC}


def test_one_profile_may_have_two_media() -> None:
    asked = kernels("auto")
    assert [chosen(asked, "wireline-100m", 2, medium) for medium in ("tc", "line", "tc")] == [TC, LINE, TC]


@pytest.mark.parametrize(
    ("wanted", "host", "name", "stations", "said"),
    [
        (
            ("auto", "line"),
            NO_TUN,
            "lte",
            1,
            r"has no tun, which profile 'lte' needs for the line \(No such file.*modprobe",
        ),
        (
            ("auto", "line"),
            NO_FIFO,
            "lte",
            1,
            r"no real-time class.*for the line \(Operation not permitted\): allow SCHED_F",
        ),
        (
            ("auto", "line"),
            NO_NETEM,
            "lte",
            7,
            r"carries 30,000 .* 'lte' with 7 stations has up to 34,676 .*6 stations",
        ),
        (("auto", "line"), NO_NETEM, "wireline-1g", 1, r"carries 150 Mbit/s .*; .*tc could: run with --medium tc"),
        (
            ("lab", "line"),
            NO_NETEM,
            "lte",
            1,
            r"the line runs on the machine's own kernel, as root; in the lab kernel tc",
        ),
        (("host", "tc"), NO_NETEM, "lte", 1, r"no netem.*the line could: run with --medium line; the lab kernel could"),
        (("host", "tc"), NO_TUN, "lte", 1, r"no netem[^;]*; the lab kernel could: run with --kernel lab$"),
        (
            ("auto", "tc"),
            NO_NETEM,
            "5g",
            1,
            r"no netem.*can shape 50 Mbit/s at most.*the line could: run with --medium line",
        ),
        (("auto", "auto"), NO_NETEM, "5g", 2, r"carries 30,000 frames/s.*no netem.*can shape 50 Mbit/s at most"),
        (
            ("host", "auto"),
            NO_NETEM,
            "lte",
            7,
            r"carries 30,000 .*no netem.*the lab kernel could: run with --kernel lab",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(
    wanted: tuple[Wanted, WantedMedium], host: dict[Feature, str], name: str, stations: int, said: str
) -> None:
    kernel, medium = wanted
    with pytest.raises(NotPossible, match=said):
        chosen(kernels(medium, host, wanted=kernel), name, stations)


def test_the_line_is_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NotPossible) as caught:
        chosen(kernels("line"), "lte")
    assert "for root only: run the same command as root (sudo); the line runs on the machine's own" in str(caught.value)
    assert str(caught.value).count("sudo") == 1
    assert chosen(kernels("auto"), "lte") == chosen(kernels("tc"), "lte") == LAB


def test_the_line_needs_neither_netem_nor_htb_nor_nftables() -> None:
    bare = dict.fromkeys(Feature, "gone") | dict.fromkeys(needed(library.load("lte"), "line"), "")
    assert {Feature.NETEM, Feature.HTB, Feature.IFB, Feature.NFT_BRIDGE} <= {one for one, why in bare.items() if why}
    assert chosen(kernels("line", bare), "lte") == LINE
    for feature in (Feature.NAMESPACES, Feature.VETH, Feature.BRIDGE, Feature.HOOKS, Feature.TUN, Feature.REALTIME):
        with pytest.raises(NotPossible, match=re.escape(f"has no {feature}")):
            chosen(kernels("line", bare | {feature: "gone"}), "lte")
