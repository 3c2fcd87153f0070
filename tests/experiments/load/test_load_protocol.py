"""The lines between owner and client."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from load_runs import consumer, node_plan, producer
from pydantic import ValidationError

from experiments.load.protocol import (
    Done,
    Failure,
    Go,
    NodePlan,
    Progress,
    Ready,
    Stop,
    Times,
    read_event,
)
from experiments.workers.lines import ProtocolError, line, read

count = st.integers(0, 2**40)
events = st.one_of(
    st.builds(Ready),
    st.builds(Failure, message=st.text(max_size=30)),
    st.builds(
        Progress,
        t_ns=count,
        sent=count,
        acked=count,
        failed=count,
        delivered=count,
        wanted_by_topic=st.dictionaries(st.integers(0, 9), count),
        delivered_by_consumer=st.dictionaries(st.integers(0, 9), count),
        lost_connections=st.tuples(st.text(max_size=10)),
    ),
    st.builds(
        Done,
        **dict.fromkeys(("worst_send_lateness_s", "worst_loop_lag_s", "cpu_seconds"), st.floats(0, 10)),
    ),
)


@given(event=events)
def test_every_event_survives_its_line(event) -> None:
    text = line(event)
    assert text.count(b"\n") == 1
    assert read_event(text) == event


def test_orders_survive_their_lines(tmp_path) -> None:
    work = {"loop": "open", "rate": 5.5, "selector": {"low": 0, "high": 9}}
    plan = node_plan(tmp_path, 1, work=work, consumers=(consumer(0, selector=(0, 9)),))
    go = Go(go=Times(go_ns=1, start_ns=2, end_ns=3))
    assert read(line(plan), NodePlan) == plan
    assert read(line(go), Go) == go
    assert read(line(Stop()), Stop) == Stop()


def test_a_consumer_selects_what_the_workload_says(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"consumers \[1\] do not select what the workload says: \(0, 9\)"):
        node_plan(
            tmp_path, 1, work={"selector": {"low": 0, "high": 9}},
            consumers=(consumer(0, selector=(0, 9)), consumer(1)),
        )  # fmt: skip


@given(data=st.binary(max_size=200))
def test_random_bytes_are_a_protocol_error_or_an_order(data: bytes) -> None:
    for kind in (NodePlan, Go):
        with pytest.raises(ProtocolError):
            read(data, kind)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"work": {"body_bytes": 23}}, "body_bytes"),
        ({"services": ({"service": "s", "node": "n", "host": "h", "port": 0},)}, "port"),
        ({"producers": (producer(1, topic=2),)}, "none of the workload's 2"),
        ({"producers": (producer(1), producer(1))}, "not unique"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_an_impossible_plan_is_refused_by_name(tmp_path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        node_plan(tmp_path, **({"port": 1} | changes))


def test_times_out_of_order_are_refused() -> None:
    with pytest.raises(ValidationError, match="does not hold"):
        Times(go_ns=5, start_ns=4, end_ns=9)
