"""Whether a queue was ever empty, from samples of all queues."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.trial.checks import backlogs as module
from experiments.trial.checks.backlogs import backlogs
from records.schema import resources_table

SECOND = 10**9


def sampled(samples: dict[str, list[tuple[int, float]]]) -> pa.Table:
    """Samples (s, bytes) of queues, mixed with what else is sampled."""
    rows: list[tuple[int, str, str, float]] = []
    for name, values in samples.items():
        for second, waiting in values:
            rows.append((second * SECOND, f"queue:{name}", "sent_bytes", 7.0))
            rows.append((second * SECOND, f"queue:{name}", "backlog_bytes", waiting))
    return resources_table([*rows, (3 * SECOND, "machine", "load_1m", 0.5)])


def test_a_queue_that_held_more_than_it_could_send_until_the_next_sample_was_never_empty() -> None:
    found = backlogs(sampled({"air": [(second, 250.0) for second in range(9)]}), 2 * SECOND, 6 * SECOND)
    assert found["air"].never_empty(2000)
    assert not found["air"].never_empty(2001)


def test_samples_outside_of_the_window_do_not_count() -> None:
    outside = [(1, 0.0), (6, 0.0), (7, 0.0)]
    found = backlogs(sampled({"air": [*outside, *((second, 250.0) for second in range(2, 6))]}), 2 * SECOND, 6 * SECOND)
    assert found["air"].waiting.tolist() == [250.0] * 4
    assert found["air"].t_ns.tolist() == [second * SECOND for second in (2, 2, 3, 4, 5, 6)]


@pytest.mark.parametrize(("before", "never"), [(250.0, True), (0.0, False)])
def test_what_was_there_when_the_window_began_counts(before: float, never: bool) -> None:
    samples = [(2, before), *((second, 250.0) for second in range(3, 6))]
    found = backlogs(sampled({"air": samples}), 5 * SECOND // 2, 6 * SECOND)
    assert found["air"].never_empty(2000) == never


def test_a_pause_between_samples_may_hide_an_empty_queue() -> None:
    found = backlogs(sampled({"air": [(2, 250.0), (5, 250.0)]}), 2 * SECOND, 6 * SECOND)
    assert not found["air"].never_empty(2000)


@given(
    st.dictionaries(
        st.sampled_from(["air", "uplink-0", "uplink-1", "uplink-10"]),
        st.lists(st.tuples(st.integers(0, 8), st.floats(0, 1e6)), max_size=6),
    )
)
def test_each_queue_has_its_own_samples(samples: dict[str, list[tuple[int, float]]]) -> None:
    found = backlogs(sampled(samples), 2 * SECOND, 6 * SECOND)
    inside = {
        name: [value for second, value in sorted(values, key=lambda one: one[0]) if 2 <= second < 6]
        for name, values in samples.items()
    }
    assert {name: one.waiting.tolist() for name, one in found.items()} == {
        name: values for name, values in inside.items() if values
    }


def test_the_samples_are_gone_through_as_often_for_hundreds_of_queues_as_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone_through = 0
    equal = module.pc.equal

    def counted(*words: object) -> object:
        nonlocal gone_through
        gone_through += 1
        return equal(*words)

    monkeypatch.setattr(module.pc, "equal", counted)
    found = backlogs(
        sampled({f"uplink-{number}": [(3, float(number))] for number in range(400)}), 2 * SECOND, 6 * SECOND
    )
    assert [found[f"uplink-{number}"].waiting[0] for number in range(400)] == list(np.arange(400.0))
    assert gone_through == 1
