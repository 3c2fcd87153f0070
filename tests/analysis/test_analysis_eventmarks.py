"""Names of events on a plot: none over another, none cut off, however many there are."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.plots.eventmarks import MOST_LINES, Mark, Tag, listing, named, numbered, text_length

WIDTH, LEFT, RIGHT = 353.0, 50.0, 300.0
labels = st.sampled_from(
    ["outage begins", "outage ends", "rate 2 Mbit/s", "uplink rate 2 Mbit/s, downlink rate 6 Mbit/s"]
)
events = st.lists(st.tuples(st.floats(LEFT, RIGHT), labels), min_size=1, max_size=25).map(sorted)


def ends(tag: Tag) -> tuple[float, float]:
    length = text_length(tag.text)
    left = tag.at - {"left": 0.0, "center": 0.5, "right": 1.0}[tag.align] * length
    return left, left + length


def apart(tags: list[Tag]) -> bool:
    spans = [(tag.row, *ends(tag)) for tag in tags]
    return all(a[0] != b[0] or a[2] <= b[1] or b[2] <= a[1] for n, a in enumerate(spans) for b in spans[:n])


@settings(deadline=None)
@given(events)
def test_names_touch_neither_each_other_nor_lines_nor_the_edge(found: list[tuple[float, str]]) -> None:
    places = [place for place, _ in found]
    tags = named(places, [label for _, label in found], WIDTH)
    if tags is None:
        return
    assert [tag.text for tag in tags] == [label for _, label in found]
    assert apart(tags)
    for tag in tags:
        low, high = ends(tag)
        assert low >= 0
        assert high <= WIDTH
        crossed = [one for one, place in zip(tags, places, strict=True) if low < place < high]
        assert all(one.row < tag.row for one in crossed)


@settings(deadline=None)
@given(st.lists(st.floats(LEFT, RIGHT), min_size=1, max_size=150).map(sorted))
def test_numbers_do_not_touch_and_none_is_missing(places: list[float]) -> None:
    tags = numbered(places)
    assert apart(tags)
    spans = [[int(part) for part in tag.text.split("–")] for tag in tags]
    assert [n for span in spans for n in range(span[0], span[-1] + 1)] == list(range(1, len(places) + 1))


def test_few_events_are_named_and_many_are_numbered() -> None:
    two = named([100.0, 120.0], ["outage begins", "outage ends"], WIDTH)
    assert two is not None
    assert [tag.row for tag in two] == [1, 0]
    assert named([100.0 + 5 * n for n in range(20)], ["outage begins"] * 20, WIDTH) is None


def test_twenty_events_are_listed_in_columns() -> None:
    columns = listing([Mark(n / 2, n / 2, f"outage {n}") for n in range(20)], WIDTH)
    assert [len(lines) for lines in columns] == [7, 7, 6]
    assert columns[0][0].split("\u2002") == ["\u20071", "0 s", "outage 0"]
    assert columns[2][-1].split("\u2002") == ["20", "9.5 s", "outage 19"]


def test_a_long_name_is_continued_and_a_long_list_ends_with_where_the_rest_is() -> None:
    (lines,) = listing([Mark(n, n, "rate 2 Mbit/s, delay 10 ms, " * 6) for n in range(50)], WIDTH)
    assert all(text_length(line) <= WIDTH for line in lines)
    assert len(lines) <= MOST_LINES + 1
    assert lines[-1].endswith("more, in the table of events")
