"""How long clients may take to connect follows from the link and from how many they are."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from emulation.profile import library
from emulation.profile.profile import LinkProfile
from experiments.scenario.settings import Settings
from experiments.trial.connect_time import ConnectTime, connect_time, servers_s
from experiments.trial.plan import node_plans, workload
from stacks.driver import Endpoint


def settings(clients: int, **more: Any) -> Settings:
    both = {"publishers": clients, "subscribers": clients, "topics": clients}
    work = {"clients": both, "body_bytes": 100}
    return Settings.model_validate({"scenario": "s", "network": "n", "stations": 4, "workload": work} | more)


def link(**more: Any) -> LinkProfile:
    base = {"name": "made", "description": "d", "source": "s", "medium": "duplex"}
    return LinkProfile.model_validate(base | more)


def times(profile: LinkProfile, clients: int = 4, **more: Any) -> ConnectTime:
    return connect_time(settings(clients, **more), profile, kernel="host")


def test_servers_that_are_programs_get_ready_one_after_the_other() -> None:
    def of(server: dict[str, Any], servers: int = 3) -> tuple[float, float]:
        work = {"pattern": "command", "server": {"command": "serve", **server}, "client": {"command": "ask"}}
        asked = settings(1, workload=work, topology={"kind": "star", "servers": servers}, stack="none")
        return servers_s(asked), servers_s(asked, limits=False)

    assert of({"ready_s": 300}) == (900, 900)
    assert of({"ready_port": 7000, "limit_s": 20}) == (60, 0)
    assert servers_s(settings(1)) == 0


def test_a_client_on_a_satellite_takes_four_round_trips() -> None:
    assert times(library.load("geo-satellite"), 1).expected_s == pytest.approx(4 * 0.54, abs=0.1)


@pytest.mark.parametrize(("tls", "round_trips"), [("1.2", 6), ("1.3", 5)])
def test_a_handshake_of_tls_takes_its_own(tls: str, round_trips: int) -> None:
    found = times(library.load("geo-satellite"), 1, stack="activemq", knobs={"activemq": {"tls": tls}})
    assert found.expected_s == pytest.approx(round_trips * 0.54, abs=0.1)


@pytest.mark.parametrize(
    "harder",
    [
        {"delay": 0.3},
        {"delay": 0.01, "rate": "100 kbit/s"},
        {"delay": 0.01, "loss": 0.1},
        {"delay": 0.01, "loss": {"model": "gilbert-elliott", "p": 0.001, "r": 0.1}},
        {"delay": 0.01, "rate": "1 Mbit/s", "queue_bytes": 1_000_000},
        {"delay": 0.01, "jitter": 0.1, "jitter_distribution": "pareto", "allow_jitter_beyond_delay": True},
    ],
    ids=str,
)
def test_a_slower_longer_or_lossier_link_has_longer_limits(harder: dict[str, Any]) -> None:
    easy, hard = times(link(delay=0.01, rate="1 Mbit/s", queue_bytes=10_000)), times(link(**harder))
    assert hard.client_s > easy.client_s
    assert hard.all_s > easy.all_s


def test_more_clients_have_longer_limits_and_share_a_shared_medium() -> None:
    one, all_ = (times(library.load("nistnet-80211"), clients) for clients in (4, 400))
    assert all_.all_s > one.all_s
    # 800 hellos of 4,000 bytes at 1 Mbit/s, one after the other.
    assert all_.expected_s > 800 * 4000 * 8 / 1e6
    shared, duplex = (times(link(medium=medium, rate="1 Mbit/s"), 400) for medium in ("shared", "duplex"))
    assert shared.expected_s > 2 * duplex.expected_s


def test_clients_beyond_those_that_connect_at_once_wait_for_their_turn() -> None:
    few, many = (times(link(delay=0.25), clients).expected_s for clients in (32, 128))  # 16 and 64 at a station
    assert many == pytest.approx(4 * few)


def test_a_packet_lost_six_times_ends_no_trial_on_a_lossy_link() -> None:
    """After those TCP gives up by itself: 1 + 2 + 4 + 8 + 16 + 32 + 64 s."""
    assert times(link(loss=0.5), 400).client_s > 127
    assert times(link(loss=0.001), 1).client_s < 80


def test_a_whole_group_has_at_least_what_its_slowest_client_has() -> None:
    for name in library.names():
        found = times(library.load(name), 100)
        assert found.expected_s < found.all_s
        assert found.client_s <= found.all_s


def test_a_station_with_a_slow_link_of_its_own_counts() -> None:
    slow = {"sta2": {"delay": 0.5}}
    assert times(link(stations=slow)).expected_s > 10 * times(link()).expected_s


def test_bare_is_as_fast_on_every_link() -> None:
    found = {astuple(times(library.load(name), connect="bare")) for name in library.names()}
    assert len(found) == 1
    assert found.pop()[0] == 0


def test_the_lab_kernel_starts_its_clients_more_slowly() -> None:
    assert connect_time(settings(4), link(), kernel="lab").all_s > times(link()).all_s


def test_clients_are_told_their_limit() -> None:
    cell = settings(2)
    at = Endpoint(host="10.0.0.1", port=1)
    names = ["sta1", "sta2"]
    work = workload(cell, names)
    plans = node_plans(
        cell,
        work,
        addresses=dict.fromkeys(names, "10.0.0.2"),
        services=[at],
        seed=1,
        out_dir=Path,
        connect_limit_s=99.5,
    )
    assert [one.connect_timeout_s for one in plans] == [99.5, 99.5]
