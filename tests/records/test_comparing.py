"""Which factor is compared, against which level, and what is said of a wish that cannot be met."""

from __future__ import annotations

import pytest

from records.campaign import Campaign
from records.comparing import Compared, compared, problems

FACTORS = {"stack": ("activemq", "null"), "network": ("wire", "air"), "body_bytes": ("100",)}


def test_the_network_is_compared_unless_another_factor_is_named() -> None:
    assert compared(FACTORS) == Compared("network", "wire")
    assert compared(FACTORS, baseline="air") == Compared("network", "air")
    assert compared(FACTORS, factor="stack") == Compared("stack", "activemq")
    assert compared(FACTORS, factor="stack", baseline="null") == Compared("stack", "null")


def test_without_a_network_the_only_factor_is_compared_and_of_several_none() -> None:
    assert compared({"stack": ("a", "b")}) == Compared("stack", "a")
    assert compared({"stack": ("a", "b"), "body_bytes": ("1", "2")}) is None
    assert compared({}) is None


@pytest.mark.parametrize(
    ("factor", "baseline", "key", "problem"),
    [
        ("stak", None, "compare", "'stak' is no factor here; factors of two levels or more: stack, network"),
        (
            "body_bytes",
            None,
            "compare",
            "'body_bytes' has one level, 100; factors of two levels or more: stack, network",
        ),
        ("stack", "wire", "baseline", "'wire' is not a level of factor stack: activemq, null"),
        (None, "activemq", "baseline", "'activemq' is not a level of factor network: wire, air"),
    ],
)
def test_what_cannot_be_compared_is_told_with_what_can(
    factor: str | None, baseline: str | None, key: str, problem: str
) -> None:
    assert list(problems(FACTORS, factor=factor, baseline=baseline)) == [(key, problem)]


def test_a_baseline_of_several_factors_needs_to_be_told_which() -> None:
    two = {"stack": ("a", "b"), "body_bytes": ("1", "2")}
    assert list(problems(two, factor=None, baseline="a")) == [
        ("baseline", "'a': say whose level it is, compare: FACTOR; there are stack, body_bytes")
    ]
    assert list(problems(two, factor="stack", baseline="b")) == []


def campaign(compare: str | None, baseline: str | None) -> Campaign:
    return Campaign(
        scenario="s", digest="d" * 64, created="", seed=1, factors=FACTORS, compare=compare, baseline=baseline,
        cells=(), order=(),
    )  # fmt: skip


def test_another_factor_is_compared_against_its_own_first_level() -> None:
    assert campaign("network", "air").by("stack").compared == Compared("stack", "activemq")
    assert campaign("network", "air").by("network").compared == Compared("network", "air")


def test_a_record_from_before_factors_were_named_compares_networks() -> None:
    older = campaign(None, "air").model_dump(mode="json")
    del older["compare"]
    assert Campaign.model_validate(older).compared == Compared("network", "air")
