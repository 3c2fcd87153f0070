"""What came to the loss stage against what it has seen; with real packets in test_link.py and test_stages_lab.py."""

from __future__ import annotations

from emulation.proof.bypass import bypass_checks
from emulation.tc.losstable import LossCount, StageCount
from records.link import LinkCheck


def stage(
    *, seen: int, entered: tuple[int, int], dark: int = 0, received: int | None = None, downlink: int = 7
) -> StageCount:
    """Counters of two lists of the uplink (the second has seen one packet) and one of the downlink."""
    uplink = [LossCount(name=f"uplink-0-{n}", direction="uplink", seen=n or seen, dropped=0) for n in range(2)]
    down = LossCount(name="downlink", direction="downlink", seen=downlink, dropped=0)
    return StageCount(
        losses=(*uplink, down),
        dark={"uplink": dark, "downlink": 0},
        entered={"uplink": entered, "downlink": (downlink, downlink)},
        received={"uplink": entered[1] if received is None else received, "downlink": downlink},
    )


def uplink(first: StageCount, last: StageCount) -> LinkCheck:
    found = {one.direction: one for one in bypass_checks(first, last)}
    assert found["downlink"].holds
    return found["uplink"]


START = stage(seen=10, entered=(11, 11))


def test_all_that_came_met_a_list_or_an_outage() -> None:
    check = uplink(START, stage(seen=110, dark=40, entered=(111, 111)))
    assert check.holds
    assert check.delivered == 0
    assert check.detail == "100 of 100 packets met the loss stage, 40 of them an outage"


def test_what_came_while_the_counters_were_read_is_not_missed() -> None:
    assert uplink(stage(seen=10, entered=(9, 14)), stage(seen=110, entered=(100, 130))).delivered == 0


def test_what_was_under_way_is_not_missed_unless_nothing_was_seen_at_all() -> None:
    assert uplink(START, stage(seen=109, entered=(112, 112))).holds
    assert not uplink(START, stage(seen=10, entered=(13, 13))).holds


def test_a_link_that_has_seen_nothing_of_what_came_does_not_hold() -> None:
    check = uplink(START, stage(seen=10, entered=(111, 111)))
    assert (check.delivered, check.holds) == (100, False)


def test_nothing_came_and_nothing_was_seen() -> None:
    assert uplink(START, START).holds


def test_what_only_the_ports_have_counted_was_led_past_everything() -> None:
    nothing = stage(seen=0, entered=(0, 0), received=4)
    check = uplink(nothing, stage(seen=0, entered=(0, 0), received=54))
    assert (check.delivered, check.holds) == (50, False)


def test_packets_that_met_two_lists_are_found_out() -> None:
    check = uplink(START, stage(seen=140, dark=30, entered=(111, 111)))
    assert (check.delivered, check.holds) == (-30, False)
