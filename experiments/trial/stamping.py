"""What a trial collects of its services' stamps (records.stamps)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from experiments.trial.context import TrialContext
from records.stamped import Stamped, read, table
from records.stamps import FILE


def collect(context: TrialContext) -> tuple[dict[str, pa.Table], tuple[str, ...]]:
    """The table of all stamps, by its name, where any were asked for, and what is missing of it.

    To be called when the services have ended.
    """
    asked = {one.name for one in context.services if one.stamps}
    numbers = {node.name: number for number, node in enumerate(context.network.nodes)}
    found, notes = dict[int, Stamped](), list[str]()
    for one in context.running:
        if one.service not in asked:
            continue
        try:
            found[numbers[one.node]] = stamped = read(one.folder / FILE)
        except (OSError, ValueError) as error:
            notes.append(f"{one.name} has left no stamps, so messages by way of it have no journey: {error}")
            continue
        notes += [f"{one.name}: {said}" for said in _missing(stamped)]
    if not asked:
        return {}, ()
    rows = {number: stamped.rows for number, stamped in found.items()}
    return {"stamps": table(rows, [node.address for node in context.network.nodes])}, tuple(notes)


def _missing(stamped: Stamped) -> Iterator[str]:
    if stamped.left_out:
        yield f"it had no room for {stamped.left_out} of its stamps, so journeys are missing"
    if not stamped.ended:
        yield "it was ended before it had written its last stamps, so journeys may be missing"
