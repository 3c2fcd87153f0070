"""README's own link over its change of rate, on this machine's kernel: used to the full, and found to have held."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from emulation.plan import linkplan
from emulation.profile import library
from emulation.profile.direction import FULL_FRAME
from emulation.profile.profile import LinkProfile
from emulation.proof.probe import probe_path
from emulation.proof.trialproof import trial_rate_check
from emulation.tc import shaper
from emulation.tc.player import playing
from experiments.trial.checks.queue_use import queue_uses
from records.link import LinkCheck
from records.schema import resources_table
from topologies.network import Network
from topologies.star import star

README = Path(__file__).parents[4] / "README.md"
CHANGE_S, LASTS_S = 1.5, 3.0


def shown() -> dict[str, Any]:
    """The profile that README shows."""
    block = re.search(r"```yaml\n(name: my-link\n.*?)```", README.read_text(), re.DOTALL)
    assert block
    found: dict[str, Any] = yaml.safe_load(block[1])
    return found


def test_the_profile_that_readme_shows_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "my-link.yaml").write_text(yaml.safe_dump(shown()))
    profile = library.load(str(tmp_path / "my-link.yaml"))
    assert profile.uplink.frame_overhead == 826e-6
    assert [event.change for event in profile.timeline if event.change] == [{"rate": "2 Mbit/s"}]


def without_netem() -> LinkProfile:
    """Its rates, overhead and queue, and its change a little earlier."""
    (change,) = (event for event in shown()["timeline"] if "change" in event)
    kept = {key: value for key, value in shown().items() if key in ("name", "description", "source", "medium", "rate",
                                                                    "frame_overhead", "queue_bytes")}  # fmt: skip
    return LinkProfile.model_validate(kept | {"timeline": [change | {"at": CHANGE_S}]})


def used_to_the_full(network: Network) -> LinkCheck:
    """The check of a queue into which more is sent than can leave it, before and after the change."""
    plan = linkplan.plan(without_netem(), ["sta1"], seed=1, seconds=LASTS_S, timeline_s=LASTS_S)
    station, server = network.stations[0], network.servers[0]
    done = threading.Event()
    with (
        shaper.applied(plan, network.ports) as link,
        probe_path(from_pid=station.pid, to_pid=server.pid, to_address=server.address) as path,
        playing(link) as player,
    ):

        def flood() -> None:
            path.hand_over([FULL_FRAME] * 80)  # of the 99 that the queue holds
            while not done.is_set():
                path.hand_over([FULL_FRAME] * 50, spacing_s=0.0016)

        sender = threading.Thread(target=flood)
        sender.start()
        readings = []
        try:
            time.sleep(0.3)
            start_ns = time.monotonic_ns()
            player.start(start_ns)
            for number in range(int(LASTS_S / 0.25) + 1):
                time.sleep(max(start_ns / 1e9 + number * 0.25 - time.monotonic(), 0))
                readings.append(link.timed_queue_counts())
        finally:
            done.set()
            sender.join()
    rows = [
        (t_ns, "queue:air", metric, float(value))
        for t_ns, (one,) in readings[:-1]
        for metric, value in (("sent_bytes", one.bytes), ("sent_packets", one.packets))
    ]
    (use,) = queue_uses(plan, player.played, resources_table(rows), (readings[0], readings[-1]))
    return trial_rate_check(use)


@pytest.mark.root
@pytest.mark.link
def test_it_has_held_when_it_was_used_to_the_full_over_its_change() -> None:
    with star(stations=1, congestion_control="reno") as network:
        for _ in range(5):  # a sender that is stalled does not use it to the full
            check = used_to_the_full(network)
            if check.delivered >= 0.98 * check.asked:
                break
    assert check.holds, check
    assert check.delivered == pytest.approx(check.asked, rel=0.02)
