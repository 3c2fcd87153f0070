"""Whether two media carry a load alike: what was measured of a profile by both, on the same seeds, and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from records import spreadsheet
from records.equivalence import Answer, Comparison
from records.manifest import Window
from records.record import Record
from records.window_metrics import Ledger, inside

COLUMNS = (
    "profile", "first", "second", "quantity", "pairs", "mean_first", "mean_second", "ratio", "low", "high", "answer",
)  # fmt: skip
# Fields of an agreement that decide it, and with what is only told beside them.
JUDGED = ("throughput", "latency")
QUANTITIES = (*JUDGED, "loaded_latency")
# What makes a link, as one word: the line, tc on the machine's own kernel, tc and netem in the lab kernel.
By = Literal["line", "host", "lab"]


class Quantity(Record):
    """A quantity of two media.  means: over the pairs, first and second, in SI units; None without a pair."""

    means: tuple[float, float] | None
    compared: Comparison


class Losses(Record):
    """The packets that both media lost.  lists: how many pairs of lists were held against each other.

    different: those that differ, as trial and list.  unlisted: trials (and list) whose drops are not their list's.
    passed, lost: packets of all pairs' trials, first and second.
    """

    lists: int
    different: tuple[str, ...]
    unlisted: tuple[str, ...]
    passed: tuple[int, int]
    lost: tuple[int, int]

    @property
    def same(self) -> bool:
        """Whether both had the same lists, and lost of what passed what these say."""
        return not self.different and not self.unlisted


class Agreement(Record):
    """A profile by two media.  trials: rounds that were run of both; look, looks: which look at them, of how many.

    throughput: of a closed loop.  latency: of an open loop that leaves the link idle half of the time.
    loaded_latency: that of the closed loop, which is told and decides nothing: where one message's answer stands among
    the copies of the one before, the server's threads decide, and not the medium.
    """

    profile: str
    first: By
    second: By
    trials: int
    look: int
    looks: int
    throughput: Quantity
    latency: Quantity
    loaded_latency: Quantity
    losses: Losses

    @property
    def answer(self) -> Answer:
        """Equal when all of it is; not equal when any of it is not, lists of losses included."""
        answers = {self.throughput.compared.answer, self.latency.compared.answer}
        if Answer.DIFFERENT in answers or not self.losses.same:
            return Answer.DIFFERENT
        return Answer.EQUAL if answers == {Answer.EQUAL} else Answer.UNDECIDED

    def rows(self) -> list[dict[str, Any]]:
        """A mapping of COLUMNS for each quantity."""
        same = {"profile": self.profile, "first": self.first, "second": self.second}
        found = []
        for name in QUANTITIES:
            one: Quantity = getattr(self, name)
            means = one.means or ("", "")
            figures = {"pairs": one.compared.n, "mean_first": means[0], "mean_second": means[1]}
            ends = {end: _blank(getattr(one.compared, end)) for end in ("ratio", "low", "high")}
            answer = one.compared.answer.value if name in JUDGED else ""
            found.append(same | {"quantity": name, "answer": answer} | figures | ends)
        lost = {"mean_first": self.losses.lost[0], "mean_second": self.losses.lost[1], "pairs": self.losses.lists}
        same_lost = "the same" if self.losses.same else "not the same"
        return [*found, dict.fromkeys(COLUMNS, "") | same | lost | {"quantity": "losses", "answer": same_lost}]


def _blank(value: float | None) -> float | str:
    return "" if value is None else value


def steady_rate(ledger: Ledger, window: Window) -> float | None:
    """Messages per second that consumers got inside the window, each from its first to its last; None without two.

    Messages inside the window over its length would depend on where its edges fall between two messages: of a slow
    closed loop that is one message in fifteen, by chance.
    """
    arrived = inside(ledger.t_recv, window)
    consumer, t_ns = ledger.consumer[arrived], ledger.t_recv[arrived]
    rates = []
    for one in np.unique(consumer):
        mine = t_ns[consumer == one]
        if len(mine) > 1 and (span := int(mine.max() - mine.min())) > 0:
            rates.append(1e9 * (len(mine) - 1) / span)
    return sum(rates) if rates else None


def write_csv(path: Path, found: Sequence[Agreement]) -> None:
    """Four lines per profile and pair of media; rates in messages per second, latencies in seconds."""
    spreadsheet.write_csv(path, COLUMNS, ([row[name] for name in COLUMNS] for one in found for row in one.rows()))
