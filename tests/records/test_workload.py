"""One workload value for all patterns: what each may say, who its clients are, and what a stack must promise."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from records.messaging import Guarantee
from records.record import Record
from records.workload import MESSAGE_PATTERNS, AnyWorkload, Pattern, RequestReply, workload_of

CLIENTS: dict[Pattern, dict[str, Any]] = {
    Pattern.PUBSUB: {"publishers": 3, "subscribers": 5, "topics": 2},
    Pattern.QUEUE: {"senders": 3, "receivers": 5, "queues": 2},
    Pattern.REQUEST_REPLY: {"callers": 3, "services": 5, "addresses": 2},
    Pattern.BROADCAST: {"senders": 3, "members": 5},
    Pattern.STREAM: {"flows": 3, "shape": "duplex"},
}


class Holder(Record):
    workload: AnyWorkload


def asked(pattern: Pattern, **more: Any) -> dict[str, Any]:
    return {"pattern": pattern.value, "clients": CLIENTS[pattern], "body_bytes": 100} | more


def problems(value: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(ValidationError) as caught:
        Holder.model_validate({"workload": value})
    return [(".".join(map(str, one["loc"])), one["msg"]) for one in caught.value.errors()]


@pytest.mark.parametrize("pattern", sorted(MESSAGE_PATTERNS))
@pytest.mark.parametrize(
    "sending",
    [
        {},
        {"in_flight": 8},
        {"loop": "open", "rate": 50.0, "arrivals": "poisson", "bursts": {"messages": 10, "pause_s": "500 ms"}},
        {"loop": "open", "rate": 1, "ramp": {"to": 90}, "body_bytes": {"100": "90 %", "5120": 0.1}},
    ],
    ids=str,
)
def test_every_pattern_survives_its_json(pattern: Pattern, sending: dict[str, Any]) -> None:
    made = Holder.model_validate({"workload": asked(pattern, **sending)})
    assert made.workload.pattern is pattern
    assert Holder.model_validate_json(made.model_dump_json()) == made
    assert Holder.model_validate(made.model_dump()) == made


def test_without_a_pattern_it_is_publish_and_subscribe_and_says_no_more_than_it_used_to() -> None:
    """Digests of scenarios, and campaigns that older programs read, depend on these keys."""
    plain = asked(Pattern.PUBSUB)
    del plain["pattern"]
    made = workload_of(plain)
    assert made == workload_of(asked(Pattern.PUBSUB))
    assert set(made.model_dump()) == {
        *("clients", "body_bytes", "guarantee", "body_type", "ack", "acknowledge_every", "receive", "prefetch"),
        *("memory_limit_mb", "when_full", "loop", "rate", "selector", "away"),
    }


@pytest.mark.parametrize("pattern", [one for one in sorted(MESSAGE_PATTERNS) if one is not Pattern.PUBSUB])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("selector", {"low": 0, "high": 10}),
        ("away", {"at_s": 1, "lasts_s": 1}),
        ("guarantee", {"subscription": "durable"}),
        ("clients", {"publishers": 1, "subscribers": 1}),
    ],
)
def test_what_a_pattern_cannot_have_it_has_no_key_for(pattern: Pattern, key: str, value: object) -> None:
    found = problems(asked(pattern) | {key: value})
    assert any(where.startswith(f"workload.{key}") and "not permitted" in what for where, what in found)


@pytest.mark.parametrize(
    ("changes", "where", "what"),
    [
        ({"pattern": "pubsubb"}, "workload.pattern", "'pubsub', 'queue'"),
        ({"body_bytes": 23}, "workload.body_bytes", "greater than or equal to 24"),
        ({"body_bytes": {}}, "workload.body_bytes", "at least 1"),
        ({"body_bytes": {"23": 1}}, "workload.body_bytes.23.[key]", "greater than or equal to 24"),
        ({"body_bytes": {"100": 0.5, "200": 0.4}}, "workload.body_bytes", "0.9 together"),
        ({"body_bytes": {"100": 1.5}}, "workload.body_bytes.100", "less than or equal to 1"),
        ({"body_bytes": {"100": 0.5, "2000000": 0.5}, "body_type": "map"}, "workload", "at most 1048576 bytes"),
        ({"loop": "open"}, "workload", "needs a rate"),
        ({"rate": 5}, "workload", "only an open loop has one"),
        ({"loop": "open", "rate": 1e-7}, "workload.rate", "greater than or equal to 0.000001"),
        ({"loop": "open", "rate": 5, "in_flight": 2}, "workload", "waits for no answer"),
        ({"arrivals": "poisson"}, "workload", "say loop: open"),
        ({"ramp": {"to": 5}}, "workload", "say loop: open"),
        (
            {"loop": "open", "rate": 5, "ramp": {"to": 9}, "bursts": {"messages": 2, "pause_s": 1}},
            "workload",
            "leave one of them out",
        ),
        ({"bursts": {"messages": 0, "pause_s": 1}}, "workload.bursts.messages", "greater than or equal to 1"),
        ({"clients": {"publishers": 1, "subscribers": 1, "topics": 2}}, "workload.clients", "at most 1 topics"),
        ({"prefetch": 0}, "workload", "receive: sync"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_at_its_key(changes: dict[str, Any], where: str, what: str) -> None:
    (found,) = problems(asked(Pattern.PUBSUB) | changes)
    assert found[0] == where
    assert what in found[1]


@pytest.mark.parametrize(
    "clients",
    [{}, {"shape": "all_to_all", "flows": 2}, {"shape": "duplex", "peers": 2}, {"flows": 1, "peers": 2}],
    ids=str,
)
def test_streams_have_the_number_that_belongs_to_their_shape(clients: dict[str, Any]) -> None:
    ((_, what),) = problems(asked(Pattern.STREAM, clients=clients))
    assert "has a number of" in what


@given(pattern=st.sampled_from(sorted(MESSAGE_PATTERNS)), stations=st.integers(1, 7))
def test_every_channel_has_both_ends_and_every_end_a_station(pattern: Pattern, stations: int) -> None:
    clients = workload_of(asked(pattern)).clients
    channels = range(len(clients.channels))
    assert len(set(clients.channels)) == len(channels)
    for ends in (clients.producers(stations), clients.consumers(stations)):
        assert {end.channel for end in ends} == set(channels)
        assert {end.station for end in ends} <= set(range(stations))


@given(peers=st.integers(2, 8), stations=st.integers(2, 9))
def test_all_to_all_has_a_stream_from_each_peer_to_each_other(peers: int, stations: int) -> None:
    clients = workload_of(asked(Pattern.STREAM, clients={"shape": "all_to_all", "peers": peers})).clients
    sends, receives = clients.producers(stations), clients.consumers(stations)
    assert len(sends) == len(receives) == peers * (peers - 1)
    if peers <= stations:
        pairs = Counter((one.station, other.station) for one, other in zip(sends, receives, strict=True))
        assert set(pairs.values()) == {1}
        assert all(one != other for one, other in pairs)


def test_a_duplex_flow_is_a_stream_each_way_between_two_stations() -> None:
    clients = workload_of(asked(Pattern.STREAM, clients={"flows": 2, "shape": "duplex"})).clients
    ways = [(one.station, other.station) for one, other in zip(clients.producers(4), clients.consumers(4), strict=True)]
    assert ways == [(0, 1), (1, 0), (2, 3), (3, 2)]


def test_flows_into_shared_addresses_are_spread_as_others_are() -> None:
    stream = workload_of(
        asked(
            Pattern.STREAM,
            clients={"shape": "shared", "flows": 4, "receivers": 6, "addresses": 2, "crossed": True},
        )
    )
    clients = stream.clients
    assert clients.channels == ("address-0", "address-1")
    assert [(end.station, end.channel) for end in clients.producers(4)] == [(0, 1), (1, 0), (2, 1), (3, 0)]
    assert [end.channel for end in clients.consumers(4)] == [0, 1] * 3
    assert (stream.shared, stream.undivided) == (True, True)
    assert Guarantee.SHARED_STREAMS in stream.guarantees()
    assert workload_of(stream.model_dump(mode="json")) == stream
    own = workload_of(asked(Pattern.STREAM))
    assert (own.shared, own.undivided, Guarantee.SHARED_STREAMS in own.guarantees()) == (False, False, False)


def test_crossed_clients_send_to_the_others_and_hear_from_them() -> None:
    requests = workload_of(
        asked(Pattern.REQUEST_REPLY, clients={"callers": 4, "services": 4, "addresses": 2, "crossed": True})
    ).clients
    assert [(end.station, end.channel) for end in requests.producers(4)] == [(0, 1), (1, 0), (2, 1), (3, 0)]
    assert [(end.station, end.channel) for end in requests.consumers(4)] == [(0, 0), (1, 1), (2, 0), (3, 1)]
    broadcasts = workload_of(
        asked(Pattern.BROADCAST, clients={"senders": 4, "members": 6, "groups": 2, "crossed": True})
    )
    assert broadcasts.deliveries_per_message == 3
    assert [end.channel for end in broadcasts.clients.producers(4)] == [1, 0, 1, 0]


def test_crossing_is_said_only_where_it_was_asked_for() -> None:
    """Digests of scenarios depend on it."""
    assert set(workload_of(asked(Pattern.BROADCAST)).clients.model_dump()) == {"senders", "members", "apart"}
    crossed = workload_of(
        asked(Pattern.BROADCAST, clients={**CLIENTS[Pattern.BROADCAST], "groups": 2, "crossed": True})
    )
    assert {"groups", "crossed"} < set(crossed.clients.model_dump())


@pytest.mark.parametrize(
    ("clients", "what"),
    [({"crossed": True}, "crossed: there is one group"), ({"groups": 4}, "at most 3 groups")],
)
def test_groups_that_nobody_sends_to_are_refused(clients: dict[str, Any], what: str) -> None:
    ((_, told),) = problems(asked(Pattern.BROADCAST, clients=CLIENTS[Pattern.BROADCAST] | clients))
    assert what in told


def test_what_the_stack_must_promise_follows_from_the_pattern_and_its_settings() -> None:
    assert workload_of(asked(Pattern.PUBSUB)).guarantees() == {Guarantee.ACK_AUTO}
    assert workload_of(asked(Pattern.STREAM)).guarantees() == {Guarantee.ORDERED}
    stored = asked(Pattern.QUEUE, guarantee={"delivery": "persistent"}, when_full="refuse")
    assert workload_of(stored).guarantees() == {Guarantee.ACK_AUTO, Guarantee.PERSISTENT, Guarantee.REFUSAL}


@pytest.mark.parametrize("pattern", [Pattern.REQUEST_REPLY, Pattern.BROADCAST, Pattern.STREAM])
@pytest.mark.parametrize("said", [{"guarantee": {"delivery": "persistent"}}, {"body_type": "text"}])
def test_what_a_pattern_cannot_have_is_refused(pattern: Pattern, said: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        workload_of(asked(pattern, **said))


def test_what_would_have_no_effect_is_refused() -> None:
    with pytest.raises(ValidationError, match="an exponential service time needs a mean above 0"):
        workload_of(asked(Pattern.REQUEST_REPLY, service_time={"distribution": "exponential"}))
    with pytest.raises(ValidationError, match="acknowledge_every: consumers do that with ack: client"):
        workload_of(asked(Pattern.QUEUE, acknowledge_every=3))
    workload_of(asked(Pattern.QUEUE, acknowledge_every=3, ack="client"))


@pytest.mark.parametrize(
    ("said", "mean_s", "distribution"),
    [
        (0.02, 0.02, "constant"),
        ("20 ms", 0.02, "constant"),
        ({"mean_s": "1 s", "distribution": "exponential"}, 1.0, "exponential"),
    ],
)
def test_a_service_time_is_a_time_or_a_distribution(said: object, mean_s: float, distribution: str) -> None:
    made = workload_of(asked(Pattern.REQUEST_REPLY, service_time=said))
    assert isinstance(made, RequestReply)
    assert (made.service_time.mean_s, made.service_time.distribution) == (mean_s, distribution)
