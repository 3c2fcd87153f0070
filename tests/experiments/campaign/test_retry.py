"""What is said of a trial that is run again."""

from __future__ import annotations

import pytest

from experiments.campaign.retry import in_brief

SHORT = "it stalled,  so it is run again (heartbeat)"


@pytest.mark.parametrize("why", [SHORT, "x" * 200, ""])
def test_a_short_reason_is_said_as_it_is(why: str) -> None:
    assert in_brief(why) == why


def test_a_long_reason_is_cut_between_words() -> None:
    said = in_brief(f"{SHORT} " + "a processor was away; " * 30)
    assert 180 < len(said) <= 200
    assert said.endswith(" …")
    assert said.startswith("it stalled, so it is run again (heartbeat) a processor was away;")
