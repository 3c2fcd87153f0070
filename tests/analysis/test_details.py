"""Details of trials, read when they are looked at: the last ones are held, and no more than have room."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from analysis.details import Asked, Shelf
from analysis.rows import Rows


def test_no_more_details_are_held_than_have_room() -> None:
    table = Rows(0)
    table.add_all("second", "delivered_per_s", value=np.arange(10.0), t=np.arange(10.0))
    reads: list[int] = []

    def read(number: int) -> pa.Table:
        reads.append(number)
        return pa.Table.from_batches([table.batch()])

    shelf = Shelf(25)
    details = [Asked(number, partial(read, number), shelf) for number in range(3)]
    assert all(len(one.seconds["delivered_per_s"]) == 10 for one in details for _ in range(2))
    assert reads == [0, 1, 2]
    assert (details[2].seconds, details[1].seconds) == (details[0].seconds, details[0].seconds)
    assert reads == [0, 1, 2, 0]


def test_sizes_of_flows_are_those_of_all_their_figures() -> None:
    table = Rows(0)
    for flow, figures in {"a": {"packets": 3.0, "wire_bytes": 90.0}, "b": {"packets": 1.0}}.items():
        table.add("flow", "direction", key=flow, text="uplink")
        for name, value in figures.items():
            table.add("flow", name, key=flow, value=value)
    table.add("flow", "direction", key="c", text="uplink")
    asked = Asked(0, lambda: pa.Table.from_batches([table.batch()]), Shelf())
    assert asked.flow_sizes() == asked.whole().flow_sizes() == {"a": 90.0, "b": 0.0}
