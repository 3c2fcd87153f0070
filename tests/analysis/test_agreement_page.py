"""Whether media agree, in words."""

from __future__ import annotations

import pytest

from analysis.agreement import line, section, summary
from records.agreement import Agreement, Losses, Quantity
from records.equivalence import Comparison

WHERE = {"command": "lab calibrate --agreement", "revision": "1234567", "machine": "a test"}
SAME = Losses(lists=6, different=(), unlisted=(), passed=(12_400, 12_210), lost=(371, 365))


def compared(low: float, high: float, *, n: int = 3) -> Comparison:
    return Comparison(n=n, ratio=(low * high) ** 0.5, low=low, high=high, margin=0.03)


def agreed(throughput: Comparison, latency: Comparison, losses: Losses = SAME, *, profile: str = "lte") -> Agreement:
    return Agreement(
        profile=profile, first="line", second="lab", trials=3, look=1, looks=5, losses=losses,
        throughput=Quantity(means=(21.3, 21.2), compared=throughput),
        latency=Quantity(means=(0.231, 0.233), compared=latency),
        loaded_latency=Quantity(means=(0.7, 0.6), compared=compared(0.8, 0.9)),
    )  # fmt: skip


EQUAL = agreed(compared(0.99, 1.0), compared(1.0, 1.015))
SLOWER = agreed(compared(0.9, 0.95), compared(0.99, 1.05), profile="3g")
OPEN = agreed(compared(0.9, 1.2, n=2), compared(0.99, 1.05, n=2), profile="gprs")


def test_a_row_says_what_both_measured_the_ratio_and_the_answer() -> None:
    text = section([EQUAL, SLOWER, OPEN], {}, looks=(3, 6, 12), **WHERE)
    assert (
        "| lte | lab / line | 21.2 msg/s / 21.3 msg/s | 0.995 (0.990 to 1.000) "
        "| 233 ms / 231 ms | 1.007 (1.000 to 1.015) "
        "| 600 ms / 700 ms | 0.849 (0.800 to 0.900) | the same: 365 of 12,210 / 371 of 12,400 | equal (3 pairs) |"
    ) in text
    assert "| **not equal** (3 pairs) |" in text
    assert "| **undecided** (2 of 3 pairs) |" in text
    assert "3 comparisons of two media: 1 equal, 1 not equal, 1 undecided." in text
    assert "between 1 / 1.03 and 1.03" in text
    assert "looked at after 3, 6 and 12 of them" in text


def test_what_was_not_measured_has_its_reason() -> None:
    text = section([EQUAL], {("bursty", "lab"): "the lab kernel is slow"}, looks=(3,), **WHERE)
    assert "| bursty | lab | the lab kernel is slow |" in text
    assert "looked at after 3 of them" in text


@pytest.mark.parametrize("which", ["different", "unlisted"])
def test_losses_that_differ_are_named(which: str) -> None:
    other = agreed(
        compared(0.99, 1.0), compared(1.0, 1.01), SAME.model_copy(update={which: ("cell/trial-001 uplink",)})
    )
    text = section([other], {}, looks=(3,), **WHERE)
    assert "**not the same**: 365 of" in text
    assert "**not equal** (3 pairs)" in text
    assert "* lte: losses differ in cell/trial-001 uplink" in text


def test_a_line_for_the_terminal_has_no_markup() -> None:
    assert line(SLOWER) == (
        "3g                     lab / line: not equal (3 pairs); throughput 0.925 (0.900 to 0.950), latency "
        "1.020 (0.990 to 1.050), losses the same"
    )


def test_nothing_compared_is_said() -> None:
    assert summary([]) == "0 comparisons of two media: none was made."
    none = agreed(Comparison(n=0, ratio=None, low=None, high=None, margin=0.03), compared(0.9, 1.1))
    assert "| – |" in section([none], {}, looks=(3,), **WHERE)
