"""What captures with handshakes change, and how the report tells the way that clients connected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pcap_files import ACK, SYN, Segment, segments_pcap
from synthetic_campaign import OFFSET, SERVER, START, STATION, Load, Spec, manifest, write_campaign

from analysis.campaign_compare.matching import machine_warnings
from analysis.findings import CellFinding
from analysis.report.connecting import connected, known_at_start
from analysis.report.provenance import Source
from analysis.trial import reduce_trial
from records.manifest import Cell, Connecting, ConnectionEnd, Manifest
from records.store import trials

MS = 1_000_000


def segment(at_ms: float, seq: int, *, payload: int = 100, **more: Any) -> Segment:
    t_ns = OFFSET + START + round(at_ms * MS)
    return Segment(t_ns=t_ns, src=STATION, dst=SERVER, seq=seq, payload=payload, **more)


def hello(rtt_ms: float) -> list[Segment]:
    """A handshake that ends 100 ms before the window."""
    syn = segment(-100 - rtt_ms, 0, payload=0, flags=SYN)
    return [
        syn,
        syn.back(t_ns=syn.t_ns + round((rtt_ms - 1) * MS), seq=700, ack=1, flags=SYN | ACK),
        segment(-100, 1, payload=0, ack=701),
    ]


# Sent again 30 ms after the newest packet, on a link whose round trip is longer than that.
AGAIN = [segment(10, 1), segment(500, 101), segment(600, 201), segment(630, 101), segment(640, 301)]


def flow_of(folder: Path, packets: list[Segment]) -> dict[str, float]:
    """Figures of the flow up in a trial with these packets at the station's port."""
    data = segments_pcap(packets)
    spec = Spec(
        bodies=(100,), guarantees=("best effort",), networks=("nistnet-80211",), trials=1,
        captures=lambda _: [("sta1", "station", data, len(packets))],
    )  # fmt: skip
    (trial,) = trials(write_campaign(folder, spec))
    rows = reduce_trial(trial.path, 0).to_pylist()
    assert not [row for row in rows if row["table"] == "damage"]
    return {row["metric"]: row["value"] for row in rows if row["table"] == "flow" and row["value"] is not None}


@pytest.mark.parametrize("before", [[], hello(540)], ids=["no handshake", "handshake of 540 ms"])
def test_what_was_here_before_is_sent_again_however_long_the_handshake_took(
    tmp_path: Path, before: list[Segment]
) -> None:
    found = flow_of(tmp_path, [*before, *AGAIN])
    assert (found["retransmissions"], found["out_of_order"], found["retr_or_ooo"]) == (1, 0, 1)


def test_packets_before_the_window_are_in_no_figure_of_a_flow(tmp_path: Path) -> None:
    found = flow_of(tmp_path, [*hello(540), *AGAIN])
    assert (found["packets"], found["payload_bytes"]) == (5, 500)
    assert found["active_s"] == pytest.approx(0.640, abs=0.001)


def end(of: str, min_rtt_s: float | None, *, cwnd: int = 10) -> ConnectionEnd:
    return ConnectionEnd.model_validate(
        {
            "end": of, "station": "sta1", "port": 40000, "rtt_s": min_rtt_s, "min_rtt_s": min_rtt_s, "rto_s": 1.6,
            "cwnd": cwnd, "ssthresh": None, "congestion_control": "cubic",
        }
    )  # fmt: skip


def trial(over: str | None, *ends: ConnectionEnd, seconds: float = 2.5) -> Manifest:
    made = manifest(
        Cell(name="c", levels={"network": "nistnet-80211"}), 1, spec=Spec(), load=Load(), captures=[],
        rows={},
    )  # fmt: skip
    if over is None:
        return made
    told = Connecting.model_validate({"over": over, "seconds": seconds, "quiet": True, "ends": ends})
    return made.model_copy(update={"connecting": told})


def test_the_way_that_clients_connected_is_told() -> None:
    assert connected([trial("link"), trial("link", seconds=3.5)]) == [
        "over the link that they used, in 2.50 s to 3.50 s"
    ]
    (bare,) = connected([trial("bare")])
    assert bare.startswith("on the bare link, before it was impaired (connect: bare)")
    assert connected([trial(None)]) == ["not recorded"]
    assert [
        line.partition(" (1 of 3")[0].split(",")[0] for line in connected([trial("link"), trial("bare"), trial(None)])
    ] == [
        "over the link that they used",
        "on the bare link",
        "not recorded",
    ]
    assert connected([]) == []


def test_campaigns_whose_clients_connected_otherwise_are_compared_with_a_warning() -> None:
    def origins(over: str | None) -> list[Source]:
        cell = CellFinding(name="c", levels={}, trials=())
        return [Source(cell=cell, number=1, manifest=trial(over), link=None, verdict=None)]

    assert machine_warnings(origins(None), origins("link")) == [
        "clients connected over: (not recorded) in A, link in B"
    ]
    assert machine_warnings(origins("bare"), origins("link")) == ["clients connected over: bare in A, link in B"]
    assert machine_warnings(origins(None), origins(None)) == machine_warnings(origins("link"), origins("link")) == []


def test_what_connections_knew_is_told_by_end() -> None:
    ends = (end("client", 0.541), end("client", 0.55, cwnd=14), end("server", None))
    clients, servers = known_at_start([trial("link", *ends), trial(None)])
    assert clients == (
        "clients' ends: least round trip 541 ms to 550 ms, smoothed 541 ms to 550 ms, retransmission timeout 1.60 s, "
        "window 10 to 14 segments (cubic)"
    )
    assert servers == "servers' ends: retransmission timeout 1.60 s, window 10 segments (cubic)"
    assert known_at_start([trial(None)]) == []
