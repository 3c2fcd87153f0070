"""Views of campaigns at a URI: their rows are the folder's, and nothing is read that a view does not need."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from object_store import Fault, ObjectStore
from packs import copy, pack
from sql_views import Row, table_of, view
from synthetic_campaign import Spec, write_campaign
from typer.testing import CliRunner, Result

from analysis.sql.notes import notes
from analysis.sql.source import register
from analysis.sql.views import VIEWS
from analysis.sql.work import NAME_THE_OTHERS, NoCampaign, campaigns
from experiments.campaign.unpack import unpack
from lab.main import app
from records.location import Remote, Unreachable
from records.publishing import NotPublished, publish
from records.store import DamagedTrial, trials

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CELL, OTHER = "nistnet-80211_100_dp", "wireline-100m_100_dp"
BROKEN = "delivered"  # view whose file cannot be read in one trial
SPEC = Spec(
    bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211", "wireline-100m"), trials=2,
    packets=6, events=((2.0, "slower"),), rates=((2.0, 5e5),), absent=frozenset({(CELL, 2)}),
    name="20240101-000000-aaaaaaaa",
)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of three trials, one of which has a ledger that cannot be read; one more was not run."""
    folder = write_campaign(tmp_path_factory.mktemp("sql"), SPEC)
    (folder / OTHER / "trial-002" / f"{BROKEN}.parquet").write_bytes(b"PAR1")
    return folder


@pytest.fixture
def campaign(made: Path, tmp_path: Path) -> Path:
    return copy(made, tmp_path / "results")


def without_places(rows: list[Row]) -> list[Row]:
    """Rows whose reasons name no folder: a scratch one stands where the campaign's does."""
    for row in rows:
        if "reasons" in row:
            row["reasons"] = [why.rpartition("/")[2] for why in row["reasons"]]  # type: ignore[attr-defined]
    return rows


@pytest.mark.parametrize("name", [name for name in VIEWS if name != BROKEN])
def test_a_view_has_the_rows_that_it_has_of_the_folder(name: str, campaign: Path, target: Remote) -> None:
    publish(campaign, target)
    assert without_places(view(name, target)) == without_places(view(name, campaign))


@pytest.mark.parametrize(
    ("name", "file"), [("published", "published.parquet"), (BROKEN, f"{BROKEN}.parquet"), ("links", "link.json")]
)
def test_a_file_that_was_published_as_one_that_cannot_be_read_ends_the_query_and_the_others_have_their_rows(
    name: str, file: str, campaign: Path, target: Remote
) -> None:
    (campaign / OTHER / "trial-002" / file).write_bytes(b"PAR1")
    publish(campaign, target)
    with pytest.raises(DamagedTrial, match=rf"(?s)trial-002/{file}.*; {re.escape(NAME_THE_OTHERS)}"):
        view(name, target)
    for others in ({"cell": CELL}, {"cell": OTHER, "trial": 1}):
        assert view(name, target, **others) == view(name, campaign, **others) != []


def test_a_manifest_that_cannot_be_read_ends_a_query_of_packets_and_the_others_have_their_rows(
    campaign: Path, target: Remote
) -> None:
    (campaign / OTHER / "trial-002" / "manifest.json").write_text("{")
    publish(campaign, target)
    with pytest.raises(DamagedTrial, match=rf"(?s)trial-002/manifest\.json.*; {re.escape(NAME_THE_OTHERS)}"):
        view("packets", target)
    for others in ({"cell": CELL}, {"cell": OTHER, "trial": 1}):
        assert view("packets", target, **others) == view("packets", campaign, **others) != []


def test_what_is_reduced_for_a_query_is_kept_at_the_uri_and_used_by_the_next(
    store: ObjectStore, campaign: Path, target: Remote
) -> None:
    publish(campaign, target)
    before = set(store.under("lab/runs/one"))
    first = view("flows", target, cell=CELL)
    kept = {name.rpartition("/")[2] for name in set(store.under("lab/runs/one")) - before}
    assert kept == {"_reduction.json", "reduced.parquet"}
    store.faults = [Fault(kind=503, key=name, times=99) for name in (".pcap", "published.parquet", "delivered.parquet")]
    store.calls.clear()
    assert view("flows", target, cell=CELL) == first != []
    assert store.calls["put"] == 0


@pytest.mark.parametrize(
    ("name", "needless"),
    [("published", ("delivered", "resources", ".pcap")), ("links", ("/published", "delivered", "resources", ".pcap"))],
)
def test_only_what_a_view_has_is_read(
    name: str, needless: tuple[str, ...], store: ObjectStore, campaign: Path, target: Remote
) -> None:
    publish(campaign, target)
    wanted = view(name, campaign)
    store.faults = [Fault(kind=503, key=key, times=99) for key in needless]
    assert view(name, target) == wanted != []


def test_a_trial_that_cannot_be_fetched_is_a_row_that_says_so_and_the_others_are_there(
    store: ObjectStore, campaign: Path, target: Remote
) -> None:
    publish(campaign, target)
    store.faults = [Fault(kind=503, key=f"{CELL}/trial-001/published.parquet", times=99)]
    rows = {(row["cell"], row["trial"]): row for row in view("trials", target)}
    assert rows[CELL, 1]["state"] == "damaged"
    assert "published.parquet" in str(rows[CELL, 1]["reasons"])
    assert rows[OTHER, 1]["state"] == "valid"
    with pytest.raises(Unreachable, match=r"published\.parquet"):
        view("published", target)


def test_files_that_are_not_what_was_published_end_the_query(
    store: ObjectStore, campaign: Path, target: Remote
) -> None:
    publish(campaign, target)
    good = store.objects[f"lab/runs/one/{OTHER}/trial-001/published.parquet"]
    store.objects[f"lab/runs/one/{CELL}/trial-001/published.parquet"] = good[:-8] + b"\0" * 8
    with pytest.raises(NotPublished, match=r"published\.parquet"):
        view("published", target, cell=CELL)
    capture = next(name for name in store.under("lab/runs/one") if name.startswith(CELL) and name.endswith(".pcap"))
    whole = store.objects[f"lab/runs/one/{capture}"]
    for other in (whole + bytes(16), whole[:-1] + bytes([whole[-1] ^ 1])):
        store.objects[f"lab/runs/one/{capture}"] = other
        with pytest.raises(NotPublished, match=r"\.pcap"):
            view("packets", target, cell=CELL)


def test_a_capture_that_cannot_be_read_to_its_end_ends_the_query(
    store: ObjectStore, campaign: Path, target: Remote
) -> None:
    publish(campaign, target)
    store.faults = [Fault(kind="cut", key=".pcap", after=100, times=99)]
    with pytest.raises(Unreachable, match="pcap"):
        view("packets", target, cell=CELL)


def test_a_capture_that_was_published_with_its_damage_ends_the_query(campaign: Path, target: Remote) -> None:
    path = campaign / CELL / "trial-001" / "sta1.pcap"
    path.write_bytes(path.read_bytes()[:-3])
    publish(campaign, target)
    with pytest.raises(
        DamagedTrial, match=rf"trial-001/sta1\.pcap.*: ends inside the record .*; {re.escape(NAME_THE_OTHERS)}"
    ):
        view("packets", target, cell=CELL, trial=1)
    assert view("packets", target, cell=OTHER) == view("packets", campaign, cell=OTHER) != []


def test_pages_of_comparisons_are_no_trials(campaign: Path, target: Remote) -> None:
    (campaign / "compare" / "other").mkdir(parents=True)
    (campaign / "compare" / "other" / "compare.html").write_text("page")
    publish(campaign, target)
    used = ("published", "delivered", "links")
    assert notes([target], used) == [line for line in notes([campaign], used) if "cannot be read" not in line] == []


def test_a_campaign_out_of_a_pack_has_its_rows_and_the_note_of_what_it_lacks(
    campaign: Path, target: Remote, tmp_path: Path
) -> None:
    shutil.rmtree(campaign / OTHER / "trial-002")
    unpacked = unpack(pack(campaign, tmp_path / "pack"), tmp_path / "unpacked").folder
    publish(unpacked, target)
    assert without_places(view("trials", target)) == without_places(view("trials", unpacked))
    used = ("trials", "delivered", "packets", "links")
    assert notes([target], used) == notes([unpacked], used)
    assert len(notes([target], used)) == 2
    assert view("delivered", target) == []


def test_a_uri_without_a_campaign_and_one_campaign_twice_are_told(campaign: Path, target: Remote) -> None:
    with pytest.raises(NotPublished, match="lab publish"):
        campaigns([str(target)])
    publish(campaign, target)
    with pytest.raises(NoCampaign, match="several campaigns have this name"):
        campaigns([str(target), str(campaign)])


def asked(*words: str, results: Path) -> Result:
    return CliRunner().invoke(app, ["sql", *words, "--results", str(results)])


def test_a_query_to_nothing_at_a_uri_ends_before_spark_starts(target: Remote, tmp_path: Path) -> None:
    done = asked("SELECT * FROM trials", str(target), results=tmp_path)
    assert (done.exit_code, "no campaign that has been published" in done.stderr) == (1, True), done.stderr


@pytest.mark.usefixtures("shared_session")
def test_lab_sql_answers_of_a_uri_on_spark(campaign: Path, target: Remote, tmp_path: Path) -> None:
    publish(campaign, target)
    query = "SELECT cell, count(*) AS n FROM published GROUP BY cell ORDER BY cell"
    done = asked(query, str(target), "--format", "json", results=tmp_path)
    assert (done.exit_code, done.stderr) == (0, "")
    rows = view("published", campaign)
    cells = sorted({str(row["cell"]) for row in rows})
    assert json.loads(done.stdout) == [{"cell": cell, "n": sum(row["cell"] == cell for row in rows)} for cell in cells]


@pytest.mark.usefixtures("shared_session")
@pytest.mark.parametrize("lacking", [True, False])
def test_a_query_that_cannot_be_planned_because_of_a_file_says_which_and_no_more(
    campaign: Path, target: Remote, tmp_path: Path, lacking: bool
) -> None:
    manifest = campaign / OTHER / "trial-002" / "manifest.json"
    told = json.loads(manifest.read_text())
    del told["window"]  # what is said of that has several lines
    manifest.write_text(json.dumps(told) if lacking else "{")
    publish(campaign, target)
    done = asked("SELECT count(*) FROM packets", str(target), results=tmp_path)
    assert (done.exit_code, done.stdout) == (1, "")
    said = r"[^\n]*/trial-002/manifest\.json: .*; name the others by cell IN \([^\n]*\n"
    assert re.fullmatch(said, done.stderr, re.DOTALL), done.stderr
    assert ("window" in done.stderr) == lacking
    assert "Traceback" not in done.stderr


def test_python_reads_a_uri_as_it_reads_a_folder(spark: SparkSession, campaign: Path, target: Remote) -> None:
    publish(campaign, target)
    register(spark)
    found = spark.read.format("airwire").option("table", "links").load(str(target))
    assert found.toArrow().to_pylist() == table_of("links", campaign, {}).to_pylist()
    assert len(trials(campaign)) == found.count()
