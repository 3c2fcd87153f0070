"""A boolean where a scenario, or a profile, has a number: to Python it is 1 or 0, and a mistake to whoever wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import pytest
from pydantic import BaseModel, ValidationError

from analysis.claims.vocabulary import Claim
from analysis.claims.words import Word, WordError, banded
from analysis.papers.record import Record as Paper
from emulation.profile import library
from emulation.profile.profile import LinkProfile
from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import ScenarioError
from experiments.scenario.settings import Settings
from records.workload import WORKLOADS
from records.written import Written
from stacks import registry
from stacks.knobs import Knobs
from topologies.topology import Topology

WORDS = ("true", "false", "yes", "no", "on", "off")
CLOSED = """\
scenario: small
network: nistnet-80211
stations: 3
station_cores: 0.5
repeat_spoiled: 1
seed: 5
stack: activemq-openwire
knobs:
  activemq-openwire:
    keep_alive_s: 5
trials:
  least: 3
  most: 9
  until:
    half_width: 0.05
parallel:
  trials: 2
window:
  warmup_s: 1
  window_s: 20
  drain_s: 5
capture:
  snap_bytes: 128
  keep_mb: 5
  keep_every: 3
nodes:
  - node: sta3
    event: vanish
    at_s: 2
checks:
  limits:
    server_cpu: 0.5
workload:
  clients:
    publishers: 3
    subscribers: 3
    topics: 1
  body_bytes:
    100: 0.5
    200: 0.5
  in_flight: 2
  memory_limit_mb: 4
  ack: client
  acknowledge_every: 5
  prefetch: 100
  bursts:
    messages: 10
    pause_s: 1
  selector:
    low: 0
    high: 5
    of: 10
"""
OPEN = """\
scenario: small
network: [nistnet-80211, wireline-100m]
stations: 2
trials: 3
parallel: 2
stack: reference
faults:
  misreply: 10
topology:
  kind: tree
  link: wireline-100m
  servers: 2
  fanout: 2
workload:
  pattern: request_reply
  clients:
    callers: 2
    services: 1
    addresses: 1
  body_bytes: 100
  loop: open
  rate: 10
  ramp:
    to: 20
  service_time: 0.01
overrides:
  - when: {network: nistnet-80211}
    window:
      window_s: 20
"""
FACTORS = """\
scenario: small
network: nistnet-80211
stations: 2
workload:
  clients:
    publishers: 1
    subscribers: 1
  body_bytes:
    - 100
    - 200
  away:
    at_s: 2
    lasts_s: 2
  in_flight:
    - 2
    - 4
cases:
  - case: one
    window:
      window_s: 15
  - case: two
    window: {window_s: 15}
"""
PROGRAMS = """\
scenario: small
network: nistnet-80211
stations: 2
workload:
  pattern: command
  server:
    command: cat
    ready_port: 80
    limit_s: 5
  client: {command: cat}
"""
STREAMS = """\
scenario: small
network: nistnet-80211
stations: 2
stack: reference-peers
workload:
  pattern: stream
  clients:
    shape: all_to_all
    peers: 2
  body_bytes: 100
"""
PROFILE = """\
name: mine
description: for tests
source: made for tests
medium: duplex
rate: 1000000
queue_bytes: 20000
burst_bytes: 2000
frame_overhead: 0.001
delay: 0.01
jitter: 0.001
reorder: 0.01
duplicate: 0.01
corrupt: 0.01
uplink:
  loss: 0.01
downlink:
  loss:
    model: gilbert-elliott
    p: 0.1
    r: 0.5
    loss_good: 0.01
stations:
  sta1:
    delay: 0.02
timeline:
  - at: 5
    outage: 2
"""


def numbers(text: str) -> Iterator[tuple[int, str]]:
    """The lines (from 1) whose value is a number, and the text up to it."""
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.fullmatch(r"(\s*(?:- )?(?:[\w.]+: )?)[0-9.]+", line):
            yield number, match[1]


def with_word(text: str, number: int, head: str, word: str) -> str:
    lines = text.splitlines()
    lines[number - 1] = head + word
    return "\n".join(lines)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    "text", [CLOSED, OPEN, FACTORS, PROGRAMS, STREAMS], ids=["closed", "open", "factors", "programs", "streams"]
)
def test_whatever_boolean_stands_for_a_number_of_a_scenario_is_refused(tmp_path: Path, text: str, word: str) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    scenarios.load(path)
    for number, head in numbers(text):
        path.write_text(with_word(text, number, head, word))
        with pytest.raises(ScenarioError) as caught:
            scenarios.load(path)
        assert any(
            line.startswith(f"{path}:{number}: ") and "a number is meant" in line
            for line in str(caught.value).splitlines()
        ), (head, str(caught.value))


@pytest.mark.parametrize("word", WORDS)
def test_whatever_boolean_stands_for_a_number_of_a_profile_is_refused(tmp_path: Path, word: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(PROFILE)
    library.read(path)
    for number, head in numbers(PROFILE):
        path.write_text(with_word(PROFILE, number, head, word))
        with pytest.raises(library.ProfileError) as caught:
            library.read(path)
        assert f"{path}:{number}: " in str(caught.value), head
        assert "a number is meant" in str(caught.value), head


@pytest.mark.parametrize(
    "said", ["capture: off", "capture: 'off'", "capture: on", "group_frames: on", "capture: {enabled: no}"]
)
def test_a_boolean_that_is_meant_is_taken(tmp_path: Path, said: str) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(f"{CLOSED.partition('capture:')[0]}{said}\nworkload:{CLOSED.partition('workload:')[2]}")
    settings = scenarios.load(path).settings
    assert settings.capture.enabled is (said.partition(":")[2].strip(" '") == "on" or "group" in said)


class _Some(Written):
    either: bool | float = 1.0
    word: float | Literal["off"] = 1.0
    several: tuple[int, ...] = ()
    mixed: list[bool | int] = []  # noqa: RUF012
    by_name: dict[str, float | None] | None = None
    deep: tuple[dict[str, tuple[float, float]], ...] = ()
    text: str | None = None
    flag: bool = False
    anything: Any = None


@pytest.mark.parametrize("value", [True, False])
def test_a_boolean_is_right_where_one_is_among_what_can_be(value: bool) -> None:
    said = {"either": value, "mixed": [value, 1], "flag": value, "anything": [value]}
    found = _Some.model_validate(said)
    assert (found.either, found.mixed[0], found.flag, found.anything) == (value, value, value, [value])
    assert type(found.either) is bool


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ({"word": True}, ("word",)),
        ({"several": [1, False]}, ("several", 1)),
        ({"several": True}, ("several",)),
        ({"by_name": {"a": 1, "b": True}}, ("by_name", "b")),
        ({"deep": [{"a": [1.5, True]}]}, ("deep", 0, "a", 1)),
    ],
)
def test_a_boolean_for_a_number_is_told_with_its_place(said: dict[str, Any], place: tuple[str | int, ...]) -> None:
    with pytest.raises(ValidationError) as caught:
        _Some.model_validate(said)
    assert [(one["type"], one["loc"]) for one in caught.value.errors()] == [("no_number", place)]


def models(kind: Any, found: set[type[BaseModel]]) -> set[type[BaseModel]]:
    """Those that a type is made of, from the outermost on."""
    if isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in found:
        found.add(kind)
        for field in kind.model_fields.values():
            models(field.annotation, found)
    for one in get_args(kind):
        models(one, found)
    return found


def below(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for one in kind.__subclasses__():
        yield one
        yield from below(one)


def test_all_that_people_write_is_guarded() -> None:
    for name in registry.names():
        registry.knobs_of(name)
    found: set[type[BaseModel]] = set()
    for kind in (Settings, LinkProfile, Claim, Word, Paper, *WORKLOADS.values(), *below(Knobs), *below(Topology)):
        models(kind, found)
    assert len(found) > 60
    assert {one for one in found if not issubclass(one, Written)} == set()


def test_a_word_of_a_claim_is_of_a_number() -> None:
    with pytest.raises(WordError, match="needs number"):
        banded({"test": "ratio", "word": "times", "number": True}, {"times": Word(above=0.8, of="number")})
