"""Every way in which a trial's files may be damaged: that trial is marked with the reason, the rest is reported.

A trial whose records and ledger can be read counts, whatever became of its captures.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reduced_here import findings_of
from synthetic_campaign import Spec, write_campaign

from analysis.findings import Findings, Standing
from analysis.report.build import write
from analysis.rows import SCHEMA
from analysis.trial import reduce_trial
from records.filenames import MANIFEST
from records.store import Trial, write_record

FIXTURES = Path(__file__).parents[1] / "fixtures"
CELL = "nistnet-80211_100_ndnp"
REASONS = {
    "truncated-capture": "sta1.pcap: ends inside the record at byte",
    "corrupt-capture": "claims 2147483647 bytes",
    "capture-of-another-kind": "neither a pcap nor a pcapng file",
    "short-capture": "0 packets, the manifest says 81",
    "truncated-ledger": "delivered.parquet",
    "corrupt-ledger": "delivered.parquet",
    "ledger-of-another-shape": "published.parquet: columns are",
    "short-ledger": "published.parquet: 50 rows, the manifest says 104",
    "truncated-manifest": "manifest.json",
    "manifest-of-another-version": "schema version 99",
    "manifest-with-a-window-turned-round": "the window ends",
    "manifest-with-a-wrong-address": "10.0.0.999",
    "truncated-verdict": "verdict.json",
    "truncated-link": "link.json",
}
MISSING = ("manifest.json", "verdict.json", "link.json", "published.parquet", "delivered.parquet",
           "resources.parquet", "sta1.pcap")  # fmt: skip
# What only concerns packets.
COUNTING = {"truncated-capture", "corrupt-capture", "capture-of-another-kind", "short-capture", "sta1.pcap"}
SMALL = Spec(bodies=(100,), guarantees=("non-durable, non-persistent",), trials=1)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """One campaign in which each trial of a cell has one damage, and another cell is whole."""
    count = len(REASONS) + len(MISSING)
    spec = Spec(bodies=(100,), guarantees=("non-durable, non-persistent",), trials=count)
    folder = write_campaign(tmp_path_factory.mktemp("damaged"), spec)
    for number, name in enumerate(REASONS, start=1):
        shutil.copytree(FIXTURES / name, folder / CELL / f"trial-{number:03d}", dirs_exist_ok=True)
    for number, name in enumerate(MISSING, start=len(REASONS) + 1):
        (folder / CELL / f"trial-{number:03d}" / name).unlink()
    return findings_of(folder)


@pytest.mark.parametrize(("number", "name"), list(enumerate(REASONS, start=1)))
def test_a_damaged_trial_says_what_is_wrong(damaged: Findings, number: int, name: str) -> None:
    trial = next(t for t in damaged.trials if (t.cell, t.number) == (CELL, number))
    assert trial.standing is (Standing.VALID if name in COUNTING else Standing.DAMAGED)
    assert REASONS[name] in " ".join(trial.reasons)
    assert trial.partial or name not in COUNTING


@pytest.mark.parametrize(("number", "name"), list(enumerate(MISSING, start=len(REASONS) + 1)))
def test_a_missing_file_is_named(damaged: Findings, number: int, name: str) -> None:
    trial = next(t for t in damaged.trials if (t.cell, t.number) == (CELL, number))
    assert trial.standing is (Standing.VALID if name in COUNTING else Standing.DAMAGED)
    assert name in " ".join(trial.reasons)


@pytest.mark.usefixtures("blank_plots")
def test_the_rest_of_a_campaign_with_damage_is_reported(damaged: Findings) -> None:
    page = write(damaged).read_text()
    whole = next(cell for cell in damaged.cells if cell.name != CELL)
    broken = next(cell for cell in damaged.cells if cell.name == CELL)
    assert whole.count(Standing.VALID) == len(whole.trials) == len(REASONS) + len(MISSING)
    assert broken.count(Standing.DAMAGED) == len(broken.trials) - len(COUNTING)
    ledger, packets = broken.estimate("delivered_per_s"), broken.estimate("retr_share_uplink")
    assert ledger is not None
    assert ledger.n == len(COUNTING)
    assert packets is None, "means over a part of the packets are none"
    assert "16 damaged" in page
    assert "ends inside the record at byte" in page
    assert "5 of them count with what the ledger says" in page


def test_a_trial_with_a_damaged_capture_keeps_its_ledger_metrics(damaged: Findings) -> None:
    trial = next(t for t in damaged.trials if (t.cell, t.number) == (CELL, 1))
    assert trial.metrics["delivered_per_s"] > 0
    assert trial.flows


@pytest.mark.usefixtures("blank_plots")
def test_captures_that_were_not_kept_are_no_damage(tmp_path: Path) -> None:
    folder = write_campaign(tmp_path, SMALL)
    trial = Trial(folder / CELL / "trial-001")
    manifest = trial.manifest()
    gone = tuple(capture.model_copy(update={"sha256": ""}) for capture in manifest.captures)
    for capture in gone:
        (trial.path / capture.file).unlink()
    write_record(trial.path / MANIFEST, manifest.model_copy(update={"captures": gone}))
    found = findings_of(folder)
    one = next(t for t in found.trials if t.cell == CELL)
    assert one.standing is Standing.VALID
    assert one.metrics["delivered_per_s"] > 0
    assert not one.flows
    assert one.journey_why == "this trial's captures were not kept"
    assert "<td>not kept</td>" in write(found).read_text()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_no_bytes_in_any_file_make_the_reduction_fail(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = _template(tmp_path_factory)
    name = data.draw(st.sampled_from(MISSING))
    content = bytearray((whole / name).read_bytes())
    at = data.draw(st.integers(0, len(content)))
    noise = data.draw(st.binary(min_size=1, max_size=40))
    trial = tmp_path_factory.mktemp("fuzz") / "trial-001"
    shutil.copytree(whole, trial)
    content[at : at + len(noise)] = noise
    (trial / name).write_bytes(content)
    batch = reduce_trial(trial, 0)
    assert batch.schema == SCHEMA
    assert batch.num_rows > 0
    shutil.rmtree(trial)


_made: list[Path] = []


def _template(factory: pytest.TempPathFactory) -> Path:
    if not _made:
        _made.append(write_campaign(factory.mktemp("template"), SMALL) / CELL / "trial-001")
    return _made[0]
