"""Published numbers in long form: what is read, and how a file that cannot be used is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_study import CLAIMS, RECORD, changed, write_study

from analysis.papers import PaperError, read_paper
from analysis.papers.longform import NEEDED, PublishedError, read_points
from analysis.papers.published import HowExact

HEAD = ",".join(NEEDED)
BOUND = """\
link_bound:
  network: wifi
  within_percent: 5
  rows:
    - {metric: delivered_per_s, cases: [n2]}
"""
ROW = "1,a,2,delivered_per_s,1/s,10,printed\n"


def read(folder: Path, text: str, networks: tuple[str, ...] = ("lan",)) -> object:
    path = folder / "published.csv"
    path.write_text(text)
    return read_points(path, networks)


def test_seven_columns_are_enough_where_there_is_one_network_and_x_names_the_case(tmp_path: Path) -> None:
    (point,) = read(tmp_path, f"# from figure 1\n{HEAD}\n\n{ROW}")  # type: ignore[misc]
    assert (point.network, point.case, point.reading, point.note, point.line) == ("lan", "2", "printed", "", 4)


@pytest.mark.parametrize(
    ("metric", "unit", "value"),
    [("latency_p50_s", "ms", 0.010), ("latency_p50_s", "s", 10.0), ("goodput_bit_s", "MB/s", 80e6),
     ("goodput_bit_s", "Gbit/s", 10e9), ("loss_share", "%", 0.1), ("delivered_per_s", "msg/s", 10.0),
     ("retries", "count", 10.0)],
)  # fmt: skip
def test_values_are_in_si_units_here(metric: str, unit: str, value: float, tmp_path: Path) -> None:
    row = ROW.replace("delivered_per_s,1/s", f"{metric},{unit}")
    (point,) = read(tmp_path, f"{HEAD}\n{row}")  # type: ignore[misc]
    assert point.value == pytest.approx(value)


def test_how_exact_a_value_is_says_where_the_true_one_lies(tmp_path: Path) -> None:
    rows = "".join(ROW.replace("1,a", f"1,{how}").replace("printed", how) for how in HowExact)
    points = read(tmp_path, f"{HEAD},case\n" + "".join(f"{row},{n}\n" for n, row in enumerate(rows.splitlines())))
    spans = {point.how_exact.value: point.span(0.1) for point in points}  # type: ignore[attr-defined]
    assert spans == {
        "printed": (10, 10), "about": (pytest.approx(9), pytest.approx(11)), "at_least": (10, math.inf),
        "at_most": (0, 10), "derived": (10, 10),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"published\.csv: no rows"),
        ("# only words\n", r"no rows"),
        (f"{HEAD.replace('how_exact', 'howexact')}\n{ROW}", r":1: there is no column 'how_exact'"),
        (f"{HEAD},notes\n{ROW}", r":2: 7 cells under 8 columns"),
        (f"{HEAD},notes\n{ROW.strip()},\n", r":1: 'notes' is no column: did you mean 'note'"),
        (f"{HEAD},x\n{ROW.strip()},1\n", r":1: the column 'x' stands there twice"),
        (f"{HEAD}\n{ROW.replace('delivered', 'deliverd')}", r":2: metric: 'deliverd_per_s' is no metric: did you mean"),
        (f"{HEAD}\n{ROW.replace('1/s', 's')}", r":2: unit: 's' is no unit of delivered_per_s: there are msg/s, 1/s"),
        (f"{HEAD}\n{ROW.replace('10', 'ten')}", r":2: value: 'ten' is not a number, 0 or more"),
        (f"{HEAD}\n{ROW.replace('10', '36-40')}", r":2: value: '36-40' is not .*give the middle, and `about`"),
        (f"{HEAD}\n{ROW.replace('10', '-1')}", r":2: value: '-1' is not a number, 0 or more"),
        (f"{HEAD}\n{ROW.replace('10', 'nan')}", r":2: value: 'nan'"),
        (f"{HEAD}\n{ROW.replace('printed', 'abuot')}", r":2: how_exact: 'abuot' is no way .*did you mean 'about'"),
        (f"{HEAD}\n{ROW.replace('1,a', '1,')}", r":2: series: is empty"),
        (f"{HEAD},network\n{ROW.strip()},air\n", r":2: network: 'air' is no network of this study: there are lan"),
        (f"{HEAD}\n{ROW}# b\n{ROW}", r":4: x: '2' of series 'a' stands in line 2 already"),
        (f"{HEAD}\n{ROW}{ROW.replace('1,a', '2,a').replace('10', '11')}", r":3: value: line 2 says otherwise of deliv"),
        (f'{HEAD}\n1,"a,2\n', r":2: not CSV"),
    ],
)
def test_malformed_published_numbers_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PublishedError, match=message):
        read(tmp_path, text)


def test_without_a_network_column_a_study_has_one_network(tmp_path: Path) -> None:
    with pytest.raises(PublishedError, match=r":2: network: '' is no network of this study: there are lan, wifi"):
        read(tmp_path, f"{HEAD}\n{ROW}", networks=("lan", "wifi"))


def test_every_line_that_is_wrong_is_told(tmp_path: Path) -> None:
    with pytest.raises(PublishedError) as caught:
        read(tmp_path, f"{HEAD}\n{ROW.replace('10', 'x')}{ROW}{ROW.replace('1/s', 'ms').replace('printed', 'read')}")
    assert [line.partition("published.csv:")[2][:6] for line in str(caught.value).splitlines()] == [
        "2: val", "4: how", "4: uni",
    ]  # fmt: skip


def test_one_value_may_stand_in_two_figures(tmp_path: Path) -> None:
    assert len(read(tmp_path, f"{HEAD}\n{ROW}{ROW.replace('1,a', '2,b')}")) == 2  # type: ignore[arg-type]


@given(data=st.binary(max_size=300))
def test_any_table_ends_in_points_or_an_error(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "published.csv"
    path.write_bytes(f"{HEAD}\n".encode() + data)
    told = str(path)
    try:
        read_points(path, ["lan"])
    except PublishedError as error:
        told = str(error)
    assert str(path) in told


CELLS = st.sampled_from(["", "a", "1", "0", "-3", "about", "at_least", "delivered_per_s", "latency_p50_s", "ms", "1/s"])


@given(cells=st.lists(st.tuples(*[CELLS] * len(NEEDED)), max_size=4))
def test_any_cells_end_in_points_or_an_error(
    cells: list[tuple[str, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "published.csv"
    path.write_text("\n".join([HEAD, *(",".join(row) for row in cells)]))
    told = str(path)
    try:
        read_points(path, ["lan"])
    except PublishedError as error:
        told = str(error)
    assert all(line.startswith(str(path)) for line in told.splitlines())


@pytest.mark.parametrize(
    ("record", "published", "message"),
    [
        (("figure: 6", "figure: 7"), None, r"paper\.yaml:1\d: figure 7 has no points: .* the figures 5\.1, 5\.2, 6"),
        (("figure: 6", "figure: 5.2"), None, r"paper\.yaml:1\d: figure 5\.2 stands there twice"),
        (("scale: linear", "scale: square"), None, r":1\d: figures\.1\.x\.scale: 'square': .*'log'"),
        (("title: Ways", "titel: Ways"), None, r"paper\.yaml:1\d: figures\.2\.titel: unknown key"),
        (("within_percent: 10", "within_percent: 0"), None, r":5: about_within_percent: 0: has to be more than 0"),
        (("wifi: 80211n-poor", "wifi: wireline-100m"), None, r"paper\.yaml:4: networks\.wifi: 'wireline-100m' is lan"),
        (("networks: {", "networks: {} #"), None, r":4: networks: .*at least 1"),
        (("label: way", "label: way, scale: log"), None, r"published\.csv:1\d: x: 'one by one' is no number, and"),
        (("distance in km, scale: linear", "d, scale: log"), None, r"csv:1\d: x: 0 cannot stand on the logarithmic ax"),
        (None, ("lan,near0", "lan,near0\n5.2,near,50,delivered_per_s,1/s,5,printed,lan,n50"),
         r"csv:1\d: metric: 'delivered_per_s', and line 15 of the same series has 'latency_p50_s'"),
        (None, ("lan,near0", "lan,near0\n5.2,own,50,delivered_per_s,1/s,5,printed,lan,n50"),
         r"csv:1\d: metric: 'delivered_per_s' is in 1/s, and figure 5\.2 has one vertical axis, in s: draw two"),
        (None, ("10,about,satellite", "0,about,satellite"), r"csv:11: value: 0 cannot stand on the logarithmic axis"),
        (("label: way}", "label: way}\n    reading: better"), None, r":\d+: reading: 'better' is no reading .*printed"),
        (("figures:\n", "link_bound: {network: moon, within_percent: 5, rows: []}\nfigures:\n"), None,
         r":6: network: 'moon' is no network"),
        (("figures:\n", BOUND + "figures:\n"), None,
         r"paper\.yaml:10: cases: delivered_per_s of 'n2' on wifi was not published"),
    ],
)  # fmt: skip
def test_a_study_whose_parts_do_not_fit_is_refused(
    record: tuple[str, str] | None, published: tuple[str, str] | None, message: str, tmp_path: Path
) -> None:
    folder = write_study(tmp_path)
    if record:
        (folder / "paper.yaml").write_text(changed(*record, text=RECORD))
    if published:
        (folder / "published.csv").write_text(changed(*published))
    with pytest.raises(PaperError, match=message):
        read_paper(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: 64 B", "name: 65 B", r"claims\.yaml:1\d: claims\.1\.tests\.0: '65 B' is no series of figure 5\.1: did"),
        ("figure: 5.1, name", "figure: 5.9, name", r"'5\.9' is no figure of the published numbers: did you mean"),
        ("name: 64 B}, network: lan", "name: no copies}, network: wifi", r"'wifi' is no network of series 'no copies'"),
        ("name: 64 B}, network: lan", "name: 64 B}", r"other cases on each network: give one `network`"),
        ("{figure: 5.1, name: 64 B}", "{figure: 5.1}", r"series: a list of cases, or \{figure: NAME, name: NAME\}"),
        ("{figure: 5.1, name: 64 B}", "{figure: 6, name: broadcast}", r"stands over words \('one by one'\): give `at`"),
        ("{figure: 5.1, name: 64 B}", "{figure: 5.1, name: no copies}", r"2 points: two lines that meet need 4"),
        ("[n1, n2, n4, n8], at", "[n1, n2, n4, n9], at", r"'n9' is no case: there are n1, n2"),
        ("at: [1, 2, 4, 8]", "at: [1, 2, 4]", r"at needs 4 rising numbers"),
        ("at: [1, 2, 4, 8]", "at: [1, 2, 8, 4]", r"at needs 4 rising numbers"),
        ("equals: together,", "above: 3,", r"needs above, below, or both; or equals \(a case\) with within_percent"),
        ("word: about", "word: abuot", r"'abuot' is no word of this file: did you mean 'about'"),
    ],
)  # fmt: skip
def test_a_claim_on_what_was_not_published_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    folder = write_study(tmp_path, claims=changed(old, new, text=CLAIMS))
    with pytest.raises(PaperError, match=message):
        read_paper(folder)


def test_a_claim_says_which_metric_of_a_series_of_several_it_means(tmp_path: Path) -> None:
    rows = "".join(
        f"table,64 B,{n},{metric},{unit},1{n},printed,lan,t{n}\n"
        for n in (1, 2, 4, 8)
        for metric, unit in (("delivered_per_s", "1/s"), ("latency_p50_s", "ms"))
    )
    table = changed("together\n", f"together\n{rows}")
    folder = write_study(tmp_path, published=table, claims=changed("figure: 5.1", "figure: table", text=CLAIMS))
    with pytest.raises(PaperError, match=r"series '64 B' of figure table has values of delivered_per_s, lat"):
        read_paper(folder)


def test_a_series_goes_along_its_axis_whatever_the_order_of_its_lines_and_of_one_metric(tmp_path: Path) -> None:
    rows = "".join(
        f"table,64 B,{n},{metric},{unit},{value},printed,lan,t{n}\n"
        for metric, unit, values in (
            ("delivered_per_s", "1/s", {8: 3, 1: 10, 4: 7, 2: 9}),
            ("latency_p50_s", "ms", {16: 1, 1: 2}),
        )
        for n, value in values.items()
    )
    claims = (
        'claims:\n  - {id: falls, section: "5.1", finding: More nodes send less each., tests: [{test: monotone, '
        "metric: delivered_per_s, network: lan, series: {figure: table, name: 64 B}, direction: falling}]}\n"
    )
    folder = write_study(tmp_path, published=changed("together\n", f"together\n{rows}"), claims=claims)
    (claim,) = read_paper(folder).claims
    assert claim.tests[0].series == ("t1", "t2", "t4", "t8")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,what\nn1,one\n", r"cases\.csv:1: there is no column 'case'"),
        ("case,what\nn1,one\nn3,three\n", r"cases\.csv:3: 'n3' is no case of published\.csv"),
        ("case,what\nn1,one\nn1,two\n", r"cases\.csv:3: n1 stands there twice"),
    ],
)
def test_cases_are_described_that_were_published(text: str, message: str, tmp_path: Path) -> None:
    folder = write_study(tmp_path)
    (folder / "cases.csv").write_text(text)
    with pytest.raises(PaperError, match=message):
        read_paper(folder)
