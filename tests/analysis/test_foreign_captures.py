"""`lab analyse`: captures that Airwire did not make."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from browser import LAPTOP, PHONE, measured
from common.capture import write_capture
from hypothesis import given
from hypothesis import strategies as st
from lab_command import lab
from lossy_link import Link, capture_lossy_transfer
from pcap_files import ACK, SYN, Segment, frame, pcap, pcapng, segments_pcap, write
from piecewise import in_ranges
from typer.testing import CliRunner

from analysis.capture.ranges import index
from analysis.capture.reader import read_capture
from analysis.foreign_captures.build import facts, write_report
from analysis.foreign_captures.model import CaptureFile, gather
from analysis.foreign_captures.plots import file_plots, rates
from analysis.foreign_captures.summarise import Span
from analysis.spark import pieces
from analysis.spark.captures import reduce_captures
from analysis.tcp import connections
from analysis.tcp.analysis import analyse
from analysis.tcp.flows import flow_table
from lab.main import app

ROOT = Path(__file__).parents[2]
ARP = b"\xff" * 12 + b"\x08\x06" + bytes(46)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real transfer of four streams through a link that loses packets."""
    path = tmp_path_factory.mktemp("lossy") / "lossy.pcap"
    return capture_lossy_transfer(path, size=300_000, streams=4, link=Link(rate="8mbit", drop_every=40))


def file_of(path: Path) -> CaptureFile:
    return gather([path], reduce_captures([path]))[0]


@pytest.mark.root
def test_a_real_capture_gives_a_table_a_page_and_the_flows_as_csv(lossy: Path, tmp_path: Path) -> None:
    done = lab("analyse", lossy, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    found = rows(tmp_path / "out" / "flows.csv")
    assert len(found) == 8
    packets = read_capture(lossy).tcp
    assert sum(int(row["packets"]) for row in found) == len(packets)
    table = flow_table(analyse(packets), start_ns=0, end_ns=2**62).columns
    for name in ("wire_bytes", "retr_or_ooo", "duplicate_acks", "rtt_samples"):
        assert sum(int(row[name]) for row in found) == int(table[name].sum()), name
    assert sum(int(row["retr_or_ooo"]) for row in found) > 0
    assert found[0]["flow"] in done.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == 3
    assert not re.search(r"""(src|href)=["'](https?:|//)""", page)
    assert len(list((tmp_path / "out" / "plots").iterdir())) == 6


@pytest.mark.root
def test_series_add_up_to_the_flows(lossy: Path) -> None:
    file = file_of(lossy)
    total = sum(file.flows.column("wire_bytes").to_pylist())
    assert sum(value for _, value in file.seconds["", "wire_bytes"]) == total
    assert file.span is not None
    drawn = rates(file, file.seconds["", "wire_bytes"])
    assert sum(value for _, value in drawn) * file.span.width_s == pytest.approx(total, rel=0.05)
    for key in file.drawn:
        row = file.flows.column("key").to_pylist().index(key)
        of_flow = file.flows.column("wire_bytes")[row].as_py()
        assert sum(value for _, value in file.seconds[key, "wire_bytes"]) == of_flow
    assert sum(count for _, count in file.rtt[""]) == sum(file.flows.column("rtt_samples").to_pylist())


@pytest.mark.root
@pytest.mark.browser
def test_nothing_sticks_out_of_the_page(lossy: Path, tmp_path: Path) -> None:
    found = measured(tmp_path, {"page": write_report(tmp_path / "out", [file_of(lossy)])})
    for width in (PHONE, LAPTOP):
        seen = found[f"page {width}"]
        assert (seen["wide"], seen["scroll"], seen["pictures"], seen["drawn"]) == ([], width, 3, 3)


def test_without_out_the_report_is_named_after_the_first_file(tmp_path: Path) -> None:
    write(tmp_path / "mine.pcap", [Segment(t_ns=10**18, seq=1, payload=10)])
    done = lab("analyse", "mine.pcap", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mine-flows" / "report.html").is_file()
    assert "report: mine-flows/report.html" in done.stdout


def test_a_damaged_file_is_shown_up_to_the_damage_with_status_3(tmp_path: Path) -> None:
    path = write_capture(tmp_path / "cut.pcap", packets=200, connections=4)
    path.write_bytes(path.read_bytes()[:-7])
    done = lab("analyse", path, "--out", tmp_path / "out")
    assert done.returncode == 3
    assert re.search(r"cut\.pcap: damaged: .* byte \d+", done.stderr)
    assert sum(int(row["packets"]) for row in rows(tmp_path / "out" / "flows.csv")) == read_capture(path).records
    assert "Damaged:" in (tmp_path / "out" / "report.html").read_text()


def test_packets_without_times_are_not_called_none(tmp_path: Path) -> None:
    path = write(tmp_path / "timeless.pcap", [Segment(t_ns=0, seq=1 + 10 * n, payload=10) for n in range(5)])
    file = file_of(path)
    assert (file.tcp, file.failed) == (5, "its packets have no times")
    assert gather([path], in_ranges(path, 300))[0].failed == file.failed
    done = lab("analyse", path, "--out", tmp_path / "out")
    assert (done.returncode, "no TCP packet" in done.stderr) == (3, False)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "There is no TCP packet" not in page
    assert "its packets have no times" in page


def test_times_that_count_from_the_capture_s_beginning_are_times(tmp_path: Path) -> None:
    path = write(tmp_path / "from-0.pcap", [Segment(t_ns=n * 10**6, seq=1 + 10 * n, payload=10) for n in range(5)])
    file = file_of(path)
    assert (file.failed, file.span) == (None, Span(low_ns=0, high_ns=4 * 10**6))
    assert sum(value for _, value in file.seconds["", "packets"]) == 5
    assert in_ranges(path, 10_000).equals(reduce_captures([path]))


def test_a_time_of_0_among_others_is_none(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pcap", [Segment(t_ns=n * 10**18, seq=1 + 10 * n, payload=10) for n in range(3)])
    assert file_of(path).span == Span(low_ns=10**18, high_ns=2 * 10**18)


def test_packets_of_several_interfaces_may_be_there_twice_and_a_line_says_so(tmp_path: Path) -> None:
    sent = [(10**18 + n * 10**6, frame(Segment(t_ns=0, seq=1 + 10 * n, payload=10))) for n in range(5)]
    said = []
    for interfaces in (1, 2):
        path = tmp_path / f"{interfaces}.pcapng"
        seen = [(which, t_ns + which * 1000, data) for t_ns, data in sent for which in range(interfaces)]
        path.write_bytes(pcapng(seen, interfaces=2))
        assert in_ranges(path, 10_000).equals(reduce_captures([path]))
        assert in_ranges(path, 300).equals(reduce_captures([path]))
        file = file_of(path)
        assert (file.tcp, file.interfaces) == (5 * interfaces, interfaces)
        said.append(dict(facts(file)).get("Seen at", ""))
    assert said == ["", "2 interfaces: a packet that passed several counts at each, as one sent again"]


def test_a_name_that_is_no_text_is_told(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.pcap")
    write(tmp_path / name, [Segment(t_ns=10**18, seq=1, payload=10)])
    done = lab("analyse", name, cwd=tmp_path)
    assert done.returncode == 2
    assert "its name is no UTF-8" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_one_packet_has_no_throughput(tmp_path: Path) -> None:
    file = file_of(write(tmp_path / "one.pcap", [Segment(t_ns=10**18, seq=1, payload=10)]))
    assert [plot.name for plot in file_plots(file, name="one")] == []


def test_files_that_cannot_be_read_are_named_and_the_others_analysed(tmp_path: Path) -> None:
    good = write_capture(tmp_path / "good.pcap", packets=200, connections=4)
    text, arp = tmp_path / "text.pcap", tmp_path / "arp.pcap"
    text.write_text("this is no capture, whatever its name says")
    arp.write_bytes(pcap([(10**18, ARP)]))
    done = lab("analyse", tmp_path / "missing.pcap", text, arp, good, "--out", tmp_path / "out")
    assert done.returncode == 1
    for said in (
        "missing.pcap: No such file",
        "text.pcap: ",
        "magic 0x73696874",
        "arp.pcap: no TCP packet in its 1 records (1 arp)",
    ):
        assert said in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert {Path(row["capture"]).name for row in rows(tmp_path / "out" / "flows.csv")} == {"good.pcap"}


def test_when_nothing_can_be_read_nothing_is_written(tmp_path: Path) -> None:
    done = lab("analyse", tmp_path / "missing.pcap", tmp_path, "--out", tmp_path / "out")
    assert (done.returncode, (tmp_path / "out").exists()) == (1, False)
    assert "Is a directory" in done.stderr


def test_without_a_file_the_usage_is_said() -> None:
    assert lab("analyse").returncode == 2


@pytest.mark.usefixtures("shared_session")
def test_spark_gives_the_same_tables_as_one_process(tmp_path: Path) -> None:
    path = write_capture(tmp_path / "a.pcap", packets=500, connections=10)
    for name, words in (("here", []), ("spark", ["--master", "local[2]"])):
        done = CliRunner().invoke(app, ["analyse", str(path), "--out", str(tmp_path / name), *words])
        assert done.exit_code == 0, done.stderr
    for name in ("flows.csv", "seconds.csv", "report.html"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "spark" / name).read_bytes(), name


def test_names_in_a_page_are_text(tmp_path: Path) -> None:
    path = write(tmp_path / "<script>alert(1)<.pcap", [Segment(t_ns=10**18, seq=1, payload=10)])
    assert lab("analyse", path, "--out", tmp_path / "out").returncode == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_connections_between_the_same_ports_are_told_apart(tmp_path: Path) -> None:
    first = [Segment(t_ns=10**18, seq=99, flags=SYN), Segment(t_ns=10**18 + 1, seq=100, payload=5, flags=ACK)]
    again = [Segment(t_ns=10**18 + 9, seq=7099, flags=SYN), Segment(t_ns=10**18 + 10, seq=7100, payload=5)]
    keys = file_of(write(tmp_path / "a.pcap", [*first, *again])).flows.column("key").to_pylist()
    name = "10.0.0.1:40000 → 10.0.0.2:61613"
    assert sorted(keys) == [name, f"{name} #2"]


@pytest.mark.parametrize("far", [10**9 - 1, 86_400 * 10**9 * 365 * 30])
def test_a_capture_of_any_length_has_few_bins(tmp_path: Path, far: int) -> None:
    segments = [Segment(t_ns=10**17 + step * far // 50, seq=step, payload=1) for step in range(51)]
    file = file_of(write(tmp_path / "far.pcap", segments))
    assert file.span is not None
    assert 20 <= file.span.seconds / file.span.width_s <= 2000
    assert len(rates(file, file.seconds["", "packets"])) <= 2001


@given(st.integers(0, 2**62))
def test_a_span_is_cut_into_at_most_2000_bins_of_at_least_a_microsecond(length: int) -> None:
    span = Span(low_ns=0, high_ns=length)
    assert span.width_s >= 1e-6
    assert span.seconds / span.width_s <= 2000 * (1 + 1e-9)


@given(
    conversations=st.lists(
        st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(0, 1400), st.booleans()), min_size=1, max_size=60
    ),
    range_bytes=st.integers(1, 5000),
)
def test_a_capture_in_ranges_gives_what_it_gives_as_a_whole(
    tmp_path_factory: pytest.TempPathFactory, conversations: Sequence[tuple[int, int, int, bool]], range_bytes: int
) -> None:
    sent = np.cumsum([payload for *_, payload, _ in conversations])
    segments = []
    for number, (client, server, payload, back) in enumerate(conversations):
        segment = Segment(t_ns=10**18 + number * 10**6, src=f"10.0.0.{client}", dst=f"10.0.1.{server}",
                          seq=int(sent[number]), payload=payload)  # fmt: skip
        segments.append(segment.back(t_ns=segment.t_ns, ack=int(sent[number])) if back else segment)
    path = tmp_path_factory.mktemp("any") / "any.pcap"
    path.write_bytes(segments_pcap(segments) + pcap([(10**18, ARP)])[24:] + pcap([(10**18, frame(segments[0]))])[24:50])
    assert in_ranges(path, range_bytes).equals(reduce_captures([path]))


def test_a_capture_that_cannot_be_analysed_does_not_end_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A capture of more flows than can be held, between two that are sound."""
    many = [Segment(t_ns=10**18 + n, sport=1000 + n, payload=10) for n in range(9)]
    paths = [
        write(tmp_path / "first.pcap", many[:1]),
        write(tmp_path / "many.pcap", many),
        write(tmp_path / "last.pcap", many[:2]),
    ]
    monkeypatch.setattr(connections, "MOST_FLOWS", 3)
    files = gather(paths, reduce_captures(paths))
    assert [len(one.flows) for one in files] == [1, 0, 2]
    assert [one.failed is not None for one in files] == [False, True, False]
    assert "at most 3 are analysed" in (files[1].failed or "")
    assert (files[1].tcp, files[1].unreadable) == (9, None)
    page = write_report(tmp_path / "out", files).read_text()
    assert "Not analysed as a whole: 9 TCP flows" in page
    assert {row["capture"] for row in rows(tmp_path / "out" / "flows.csv")} == {str(paths[0]), str(paths[2])}


def test_a_range_that_cannot_be_decoded_takes_its_file_s_flows_and_no_others(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pcap", [Segment(t_ns=10**18 + n, sport=1000 + n % 5, payload=10) for n in range(200)])
    found = index(path, range_bytes=4000)
    pieces_of = [list(pieces.decode(path, one, capture=7, keys=range(2))) for one in found.ranges]
    assert len(pieces_of) > 2
    lost = list(pieces.decode(tmp_path / "gone.pcap", found.ranges[1], capture=7, keys=range(2)))
    for batches, whole in ((pieces_of, True), ([pieces_of[0], lost, *pieces_of[2:]], False)):
        held = pa.Table.from_batches([batch for one in batches for batch in one])
        told = [
            pieces.analyse_bucket(held.filter(pc.equal(held["bucket"], bucket)), capture=7, bucket=bucket).to_pylist()
            for bucket in (0, 1)
        ]
        tables = {row["table"] for bucket in told for row in bucket}
        assert ("flow" in tables, "damage" in tables) == (whole, not whole)


def test_both_directions_of_a_connection_have_its_number(tmp_path: Path) -> None:
    """The first connection's answer was not captured."""
    first = Segment(t_ns=10**18, seq=10, flags=SYN)
    second = Segment(t_ns=10**18 + 10**9, seq=999, flags=SYN)
    path = write(tmp_path / "a.pcap", [first, second, second.back(t_ns=10**18 + 2 * 10**9, seq=5, ack=1000, flags=ACK)])
    ends = "10.0.0.1:40000 → 10.0.0.2:61613"
    back = "10.0.0.2:61613 → 10.0.0.1:40000"
    assert set(file_of(path).flows.column("key").to_pylist()) == {ends, f"{ends} #2", f"{back} #2"}
