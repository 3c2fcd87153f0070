"""What the line above the numbers says."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from analysis.findings import Standing
from analysis.headlines import verdict_line


def said(*lab: bool) -> str:
    trials = [
        SimpleNamespace(standing=Standing.VALID, metrics={"lab_kernel": float(one), "waived": 0.0}) for one in lab
    ]
    return verdict_line(SimpleNamespace(trials=trials))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lab", "note"),
    [
        ((False, False), "All 2 trials are valid: no health check failed."),
        ((True, True), "All 2 trials are valid: no health check failed. All ran in the lab kernel."),
    ],
)
def test_one_kernel_for_all_is_told_when_it_is_the_lab_kernel(lab: tuple[bool, ...], note: str) -> None:
    assert said(*lab) == note


def test_a_mixture_of_kernels_is_a_warning() -> None:
    assert "1 trials ran in the lab kernel and 2 on the machine's own" in said(True, False, False)
