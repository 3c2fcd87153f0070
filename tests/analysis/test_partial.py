"""A part of a trial's analysis that fails is marked, and takes nothing of the others with it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from overloaded import Times, found
from overloaded import write_campaign as write_simple
from pcap_files import ACK, SYN, Segment, segments_pcap
from synthetic_campaign import OFFSET, START, Spec, write_campaign

from analysis import trial as reduction
from analysis.findings import Findings, Standing, TrialFinding
from analysis.headlines import verdict_line
from analysis.measures import retries
from analysis.packed import encode
from analysis.partial import part
from analysis.rows import Rows
from analysis.trial import reduce_trial
from experiments.campaign.stopping import precisions
from records.campaign import read_campaign
from records.counting import counts
from records.stopping import Rule
from records.store import Trial, trials

CELL = "nistnet-80211_100_ndnp"
ONE = Spec(bodies=(100,), guarantees=("non-durable, non-persistent",), trials=1)
RULE = Rule(least=2, most=3, half_width=0.05, metrics=("delivered_per_s", "latency_mean_s"))
LEDGERS = {"delivered_per_s", "latency_mean_s", "loss_share"}
OF_CAPTURES = {"retr_share_uplink", "rtt_mean_uplink_s", "journey_share"}


def of(findings: Findings) -> TrialFinding:
    return next(trial for trial in findings.trials if trial.cell == CELL)


@pytest.mark.parametrize("error", [TypeError("unsupported operand"), ValueError("9 flows, more than 8"), MemoryError()])
def test_an_exception_in_the_journey_leaves_the_ledger_s_metrics(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_campaign(tmp_path, ONE)
    whole = of(found(folder))

    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(reduction, "journey_rows", fails)
    trial = of(found(folder))
    assert trial.standing is Standing.VALID
    assert {name: trial.metrics[name] for name in LEDGERS} == {name: whole.metrics[name] for name in LEDGERS}
    assert trial.metrics["retr_share_uplink"] == whole.metrics["retr_share_uplink"]
    assert trial.flows == whole.flows
    assert list(trial.partial) == ["journey"]
    assert (str(error) or type(error).__name__) in trial.partial["journey"]
    assert any(reason.startswith("not analysed: journey: ") for reason in trial.reasons)
    assert "a capture, or what is made of it, could not be analysed; 2 of them count" in verdict_line(found(folder))


def test_a_module_of_metrics_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> None:
        raise KeyError("size")

    monkeypatch.setattr(retries, "measure", fails)
    findings = found(write_campaign(tmp_path, ONE))
    trial = of(findings)
    assert trial.standing is Standing.VALID
    assert set(trial.metrics) >= LEDGERS
    assert trial.partial["measures.retries"].endswith(": KeyError: 'size'")
    line = verdict_line(findings)
    assert "retries, a module of metrics, failed in 2 trials." in line
    assert "capture" not in line


def test_a_capture_that_cannot_be_read_to_its_end_gives_no_means(tmp_path: Path) -> None:
    folder = write_campaign(tmp_path, ONE)
    pcap = folder / CELL / "trial-001" / "sta1.pcap"
    pcap.write_bytes(pcap.read_bytes()[:-7])
    trial = of(found(folder))
    assert trial.standing is Standing.VALID
    assert trial.metrics.keys() >= LEDGERS
    assert not OF_CAPTURES & trial.metrics.keys(), "of a part of the packets"
    assert trial.flows, "what can be read is shown"
    assert "ends inside the record" in trial.partial["sta1.pcap"]
    assert trial.journey_why == "sta1.pcap cannot be read to its end"
    assert counts(Trial(pcap.parent))


def test_a_part_that_fails_leaves_no_row_of_its_own() -> None:
    rows = Rows(3)

    def work(mine: Rows) -> None:
        mine.add("trial", "half", value=1.0)
        raise KeyError("x")

    assert not part("captures", rows, work)
    (only,) = rows.batch().to_pylist()
    assert (only["trial"], only["table"], only["metric"], only["text"]) == (3, "partial", "captures", "'x'")


def test_who_runs_trials_and_who_reports_them_agree_on_what_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = dict.fromkeys(("sound", "ledger", "short", "resources", "window", "journey"), (40.0, 50.0))
    times = dict.fromkeys(cells, Times(window_s=8, drain_s=2))
    folder = write_simple(tmp_path / "campaign", cells, times, rule=RULE)
    (folder / "ledger" / "trial-001" / "delivered.parquet").write_bytes(b"PAR1")
    (folder / "resources" / "trial-001" / "resources.parquet").unlink()
    manifest = folder / "short" / "trial-001" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"published": ', '"published": 1'))
    manifest = folder / "window" / "trial-001" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"start_ns": 5', '"start_ns": 95'))
    healthy = reduction.journey_rows

    def fails(trial: Trial, *rest: object) -> None:
        if trial.path.parent.name == "journey":
            raise RuntimeError("no journey")
        healthy(trial, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(reduction, "journey_rows", fails)
    stands, findings = precisions(folder, read_campaign(folder)), found(folder)
    assert {cell.name: len(cell.valid) for cell in findings.cells} == {
        "sound": 3, "ledger": 2, "short": 2, "resources": 2, "window": 2, "journey": 3,
    }  # fmt: skip
    for cell in findings.cells:
        assert stands[cell.name] == cell.precision
        assert [counts(Trial(one.path)) for one in cell.trials if one.path] == [
            one.standing is Standing.VALID for one in cell.trials
        ]


def test_what_failed_survives_packing(tmp_path: Path) -> None:
    folder = write_campaign(tmp_path, ONE)
    (folder / CELL / "trial-001" / "sta1.pcap").unlink()
    (trial,) = (one for one in trials(folder) if one.path.parent.name == CELL)
    rows = pa.Table.from_batches([reduce_trial(trial.path, 0)])
    assert any(row["table"] == "partial" for row in rows.to_pylist())
    assert len(encode(rows)) > 0


def connection(start_s: float, *, isn: int, packets: int) -> list[Segment]:
    """A handshake and some data from one pair of ports."""
    at = OFFSET + START + int(start_s * 1e9)
    syn = Segment(t_ns=at, seq=isn, flags=SYN)
    data = [
        Segment(t_ns=at + 10**7 * (2 + n), seq=isn + 1 + 100 * n, ack=1, payload=100, flags=ACK) for n in range(packets)
    ]
    return [syn, syn.back(t_ns=at + 10**6, seq=0, ack=isn + 1, flags=SYN | ACK), *data]


def test_a_port_pair_that_is_used_again_is_two_flows(tmp_path: Path) -> None:
    segments = connection(1, isn=5_000, packets=4) + connection(3, isn=900_000, packets=7)

    def captures(network: str) -> list[tuple[str, str, bytes, int]]:
        del network
        return [("sta1", "station", segments_pcap(segments), len(segments))]

    spec = Spec(bodies=(100,), guarantees=ONE.guarantees, trials=1, captures=captures)
    trial = of(found(write_campaign(tmp_path, spec)))
    assert {name: flow["data_packets"] for name, flow in trial.flows.items()} == {
        "sta1:40000 → srv:61613": 4,
        "sta1:40000 → srv:61613 #2": 7,
    }
