"""How many, in words that fit one as well as several."""

from __future__ import annotations

from records.counts import out_of, several


def test_one_has_no_plural() -> None:
    assert [several(count) for count in (0, 1, 2, 2000)] == ["0 trials", "1 trial", "2 trials", "2,000 trials"]
    assert [out_of(1, 1), out_of(0, 1), out_of(1, 2)] == ["the one trial", "0 of 1 trial", "1 of 2 trials"]
    assert out_of(1, 1, "cell") == "the one cell"
