"""What the line above the numbers says."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from analysis.findings import CellFinding, Standing, TrialFinding
from analysis.headlines import _briefly, _furthest, _validity, headlines, verdict_line
from analysis.statistics import paired_ratio
from analysis.units import factor_text, times_text
from records.comparing import Compared
from records.verdict import IN_CLIENT, SHARED_MACHINE, Check, Health, HealthCheck

CAMPAIGN = SimpleNamespace(compared=Compared("network", "wire"))


def said(*lab: bool) -> str:
    trials = [
        SimpleNamespace(
            standing=Standing.VALID, metrics={"lab_kernel": float(one), "waived": 0.0}, partial={}, reasons=[]
        )
        for one in lab
    ]
    return verdict_line(SimpleNamespace(trials=trials, cells=()))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lab", "note"),
    [
        ((False, False), "All 2 trials are valid: no health check failed."),
        ((True, True), "All 2 trials are valid: no health check failed. All ran in the lab kernel."),
    ],
)
def test_one_kernel_for_all_is_told_when_it_is_the_lab_kernel(lab: tuple[bool, ...], note: str) -> None:
    assert said(*lab) == note


def valid(*reasons: str) -> TrialFinding:
    metrics = {"waived": float(len(reasons))}
    return TrialFinding("only", 1, 1, standing=Standing.VALID, metrics=metrics, reasons=["run with --mix", *reasons])


def waived(because: str) -> str:
    check = HealthCheck(
        check=Check.STEAL,
        health=Health.WAIVED,
        measured=0.2,
        limit=0.05,
        unit="share",
        detail=f"20 % (waived: {because})",
    )
    return check.reason


SHARED, NAMED = waived(SHARED_MACHINE), waived("its own (known) burst")
NO_MATTER = "a health check that failed does not count, because the machine is shared, as AIRWIRE_SHARED_MACHINE says"


@pytest.mark.parametrize(
    ("trials", "told"),
    [
        ([valid()], "The one trial is valid: no health check failed."),
        ([valid(SHARED)], f"The one trial is valid: {NO_MATTER}."),
        ([valid(NAMED)], "The one trial is valid: the scenario waives a health check that failed."),
        ([valid(SHARED, SHARED), valid()], f"All 2 trials are valid: in 1 of them {NO_MATTER}."),
        (
            [valid(SHARED, NAMED), valid(NAMED)],
            (
                "All 2 trials are valid: in 2 of them the scenario waives a health check that failed, "
                f"in 1 of them {NO_MATTER}."
            ),
        ),
        ([valid(waived(IN_CLIENT))], f"The one trial is valid: {NO_MATTER.replace(SHARED_MACHINE, IN_CLIENT)}."),
        (
            [TrialFinding("only", 1, 1, standing=Standing.INVALID)],
            "The one planned trial is invalid. Only valid trials enter the numbers below.",
        ),
    ],
)
def test_who_waives_a_check_is_told_and_a_single_trial_is_one(trials: list[TrialFinding], told: str) -> None:
    assert _validity(SimpleNamespace(trials=trials)) == told  # type: ignore[arg-type]


def test_a_mixture_of_kernels_is_a_warning() -> None:
    assert "1 trial ran in the lab kernel and 2 on the machine's own" in said(True, False, False)


def cell(network: str, values: list[float]) -> CellFinding:
    trials = tuple(
        TrialFinding(network, number, number, standing=Standing.VALID, metrics={"latency_p50_s": value})
        for number, value in enumerate(values)
    )
    return CellFinding(name=network, levels={"network": network}, trials=trials)


def latency_of(air: list[float]) -> tuple[str, ...]:
    cells = (cell("wire", [0.010, 0.011, 0.012]), cell("air", air))
    return headlines(SimpleNamespace(campaign=CAMPAIGN, cells=cells))  # type: ignore[arg-type]


def test_what_cannot_be_told_apart_is_not_told_as_a_difference() -> None:
    # Logarithms differ by 0.182, -0.095 and -0.087: standard error 0.0912, times 4.303, is a factor of 1.48.
    assert latency_of([0.012, 0.010, 0.011]) == (
        "air against wire: median latency: no difference detectable; more than 48 % would have shown (3 pairs).",
    )
    assert latency_of([0.01001, 0.01099, 0.01201]) == ("air against wire: median latency: equal within 5 % (3 pairs).",)
    assert latency_of([0.10, 0.11, 0.13])[0].startswith("air against wire: median latency is 10.3 times as high")


def test_below_twice_the_sentence_says_per_cent_as_the_tables_do() -> None:
    (told,) = latency_of([0.008, 0.0081, 0.0082])
    assert "median latency is 26.2 % lower (95 % interval of the ratio 0.607 to 0.898, 3 pairs of trials)." in told
    (alone,) = latency_of([0.0125])
    assert alone == "air against wire: median latency is 25.0 % higher (a single pair of trials, no interval)."
    several = of_pairs(([0.1, 0.1], [0.12, 0.13]), ([0.1, 0.1], [0.14, 0.14]))
    assert (
        "is 24.9 to 40.0 % higher (95 % interval of the ratio 0.751 to 2.08 at the widest, 2 pairs of cells" in several
    )


def test_every_factor_has_its_number_of_pairs_and_a_single_pair_says_that_it_is_one() -> None:
    assert latency_of([0.10, 0.11, 0.13])[0].endswith(", 3 pairs of trials).")
    (alone,) = latency_of([0.10])
    assert alone == "air against wire: median latency is 10.0 times as high (a single pair of trials, no interval)."
    assert times_text(paired_ratio([(1.0, 10.0)])) == (
        "10.0 times as much in the 1 pair there is; how much of it is chance cannot be told"
    )
    assert factor_text(paired_ratio([(1.0, 10.0)])) == "10.0 (1 pair, no interval)"
    assert factor_text(paired_ratio([(1.0, 10.0), (1.0, 10.0)])) == "10.0 [10.0, 10.0], 2 pairs"


def test_a_difference_that_three_digits_cannot_say_is_none() -> None:
    found = (cell("wire", [0.1, 0.1, 0.1]), cell("air", [0.100010, 0.100011, 0.100012]))
    findings = SimpleNamespace(cells=found, campaign=CAMPAIGN)
    (told,) = headlines(findings)  # type: ignore[arg-type]
    assert told == "air against wire: median latency: equal within 5 % (3 pairs)."


def test_pairs_of_cells_without_a_ratio_are_counted_beside_those_that_have_one() -> None:
    names = [("wire", "few"), ("air", "few"), ("wire", "many"), ("air", "many")]
    values = [[0.10, 0.11, 0.12], [0.11, 0.12, 0.13], [0.10, 0.11, 0.12], [0.3, 0.3, 0.4]]
    cells = []
    for (network, load), some in zip(names, values, strict=True):
        found = replace(cell(network, some), levels={"network": network, "load": load})
        if (network, load) == ("air", "many"):  # there messages never came
            found = replace(found, trials=tuple(replace(one, at_least={"latency_p50_s"}) for one in found.trials))
        cells.append(found)
    pairs = [(cells[0], cells[1]), (cells[2], cells[3])]
    assert _briefly(pairs, "latency_p50_s").endswith(" higher (no ratio in 1 of 2 pairs of cells)")
    assert _furthest(pairs, "latency_p50_s") == math.inf
    assert "(no ratio" not in _briefly(pairs[:1], "latency_p50_s")


def of_pairs(*values: tuple[list[float], list[float]]) -> str:
    """The headline of several pairs of cells, each of another load."""
    cells = [
        replace(cell(network, some), levels={"network": network, "load": str(load)})
        for load, pair in enumerate(values) for network, some in zip(("wire", "air"), pair, strict=True)
    ]  # fmt: skip
    (told,) = headlines(SimpleNamespace(campaign=CAMPAIGN, cells=tuple(cells)))  # type: ignore[arg-type]
    return told


def test_an_interval_is_of_what_the_sentence_says() -> None:
    wide = [0.05, 0.02, 0.09]
    assert "is 0.422 to 3.00 times the baseline's (95 % interval 0.0784 to 2.27 at" in of_pairs(
        ([0.1, 0.1, 0.12], wide), ([0.1, 0.1, 0.1], [0.3, 0.3, 0.3])
    )
    lower = of_pairs(([1.0, 1.0, 1.2], wide), ([0.3, 0.3, 0.3], [0.1, 0.1, 0.1]))
    assert "is 3.00 to 23.7 times lower (95 % interval 4.41 to 127 at the widest" in lower


def test_pairs_are_equal_where_the_least_certain_of_those_that_are_not_is() -> None:
    even, less_even = ([0.1, 0.1, 0.1], [0.0982, 0.1, 0.1018]), ([0.1, 0.1, 0.1], [0.1014, 0.103, 0.1046])
    assert "equal within 5 %" in of_pairs(even)
    for pairs in ((even, less_even), (less_even, even)):
        assert "equal within" not in of_pairs(*pairs)


def test_where_no_trial_counts_none_is_called_valid() -> None:
    assert _validity(SimpleNamespace(trials=())) == "No trial of it counts here."  # type: ignore[arg-type]
