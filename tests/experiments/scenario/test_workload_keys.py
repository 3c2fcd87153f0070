"""What a scenario's workload may say, and how a mistake in it is told: file, line, key, value, what is allowed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import Scenario, ScenarioError

HEAD = "scenario: small\nnetwork: nistnet-80211\nstations: 2\n"
PUBSUB = "  clients: {publishers: 1, subscribers: 1}\n"


def load(folder: Path, workload: str, head: str = HEAD) -> Scenario:
    path = folder / "scenario.yaml"
    path.write_text(f"{head}workload:\n{workload}")
    return scenarios.load(path)


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (PUBSUB + "  body_bytes: 5", r":6: workload.body_bytes: 5: .* 24"),
        (PUBSUB + "  body_bytes: {5: 1}", r":6: workload.body_bytes.5: '5': .* 24"),
        (PUBSUB + "  body_bytes: {50: 50 %, 90: 40 %}", r":6: workload.body_bytes: the shares .* 0.9 together"),
        (PUBSUB + "  body_bytes: {50: 1, '50': 1}", r":6: the key '50' is given twice"),
        (PUBSUB + "  body_bytes: 50\n  pattern: pubsubb", r":7: workload.pattern: 'pubsubb': .*'queue'"),
        (
            PUBSUB + "  body_bytes: 50\n  service_time: 1",
            r":7: .*pattern pubsub has none, request_reply has; known are",
        ),
        (PUBSUB + "  body_bytes: 50\n  akc: auto", r":7: workload.akc: unknown key; did you mean 'ack'"),
        (
            "  pattern: queue\n  clients: {senders: 1, receivers: 1}\n  body_bytes: 50\n  selector: {low: 0, high: 9}",
            r":8: workload.selector: pattern queue has none, pubsub has; known are ack",
        ),
        (
            "  pattern: queue\n  clients: {senders: 1, recievers: 1, receivers: 1}\n  body_bytes: 50",
            r":6: workload.clients.recievers: unknown key; did you mean 'receivers'",
        ),
        (
            "  pattern: stream\n  clients: {flows: 1}\n  body_bytes: 50",
            r":5: workload.pattern: stack 'activemq' does not offer stream",
        ),
        (
            "  pattern: stream\n  clients: {shape: shared, flows: 1, recievers: 1, receivers: 1}\n  body_bytes: 50",
            r":6: workload.clients.recievers: unknown key; did you mean 'receivers'",
        ),
        (
            "  pattern: stream\n  clients: {flows: 1, receivers: 1}\n  body_bytes: 50",
            r":6: workload.clients.receivers: only where shape is shared; known are flows, peers, shape",
        ),
        (
            "  pattern: stream\n  clients: {shape: duplex, flows: 1, apart: true}\n  body_bytes: 50",
            r":6: workload.clients.apart: only where shape is shared; known are",
        ),
        (
            "  pattern: stream\n  clients: {shape: shared, flows: 1, receivers: 1, peers: 2}\n  body_bytes: 50",
            r":6: workload.clients.peers: only where shape is one_way or duplex or all_to_all; known are addresses",
        ),
        (
            "  pattern: stream\n  clients: {shape: sharde, flows: 1}\n  body_bytes: 50",
            r":6: workload.clients.shape: 'sharde': .*'shared'",
        ),
        (
            "  pattern: stream\n  clients: {shape: shared, flows: 1, receivers: 2, addresses: 2}\n  body_bytes: 50",
            r":6: workload.clients: 2 addresses cannot be filled by 1 flows",
        ),
        (
            "  pattern: queue\n  clients: {senders: 1, receivers: 1}\n  body_bytes: 50\n  body_type: text",
            r":8: workload.body_type: 'text': has to be 'bytes'$",
        ),
        (
            "  pattern: queue\n  clients: {senders: 1, receivers: 1, apart: true}\n  body_bytes: 50",
            r":6: workload.clients.apart: senders and receivers need stations: 2 or more to be apart",
        ),
    ],
)
def test_a_mistake_is_told_with_its_line_and_what_is_allowed(tmp_path: Path, workload: str, message: str) -> None:
    head = HEAD.replace("stations: 2", "stations: 1")
    with pytest.raises(ScenarioError, match=re.escape(str(tmp_path)) + "/scenario.yaml" + message):
        load(tmp_path, workload, head)


def test_mixes_of_sizes_are_levels_of_a_factor(tmp_path: Path) -> None:
    made = load(tmp_path, PUBSUB + "  body_bytes: [100, {100: 0.9, 5120: 0.1}]")
    assert made.factors["body_bytes"] == ("100", "100-0.9-5120-0.1")
    assert [cell.settings.workload.sizes for cell in made.cells] == [{100: 1.0}, {100: 0.9, 5120: 0.1}]


def test_sending_has_keys_of_its_own(tmp_path: Path) -> None:
    closed = load(tmp_path, PUBSUB + "  body_bytes: 100\n  in_flight: [1, 8]")
    assert [cell.settings.workload.in_flight for cell in closed.cells] == [1, 8]
    open_ = "  body_bytes: 100\n  loop: open\n  rate: 10\n  arrivals: poisson\n  bursts: {messages: 5, pause_s: 2 s}"
    assert load(tmp_path, PUBSUB + open_).settings.workload.bursts is not None
    ramp = load(tmp_path, PUBSUB + "  body_bytes: 100\n  loop: open\n  rate: 10\n  ramp: {to: 90}")
    assert ramp.settings.workload.highest_rate == 90
