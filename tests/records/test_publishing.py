"""A campaign at a URI: whole or without its list, gone on with after a failure, never mixed with another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from object_store import Fault, ObjectStore
from synthetic_campaign import Spec, write_campaign

from records import location, publishing
from records.location import Remote, Unreachable, locate, remote
from records.publishing import PUBLISHED, NotPublished, publish, read_published

SPEC = Spec(bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",), trials=2, packets=4)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return write_campaign(tmp_path / "results", SPEC)


@pytest.fixture
def target(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Remote:
    monkeypatch.setattr(location, "_PAUSES_S", (0.0, 0.0))
    store.page_keys = 7
    found = locate(store.uri("lab/runs/one"))
    assert isinstance(found, Remote)
    return found


def contents(campaign: Path) -> dict[str, bytes]:
    files = (path for path in campaign.rglob("*") if path.is_file())
    return {str(path.relative_to(campaign)): path.read_bytes() for path in files}


def test_all_of_it_is_there_and_its_list_says_so(store: ObjectStore, campaign: Path, target: Remote) -> None:
    wanted = contents(campaign)
    done = publish(campaign, target)
    there = store.under("lab/runs/one")
    assert {name: body for name, body in there.items() if name != PUBLISHED} == wanted
    found = read_published(target)
    assert {one.file: one.bytes for one in found.files} == {name: len(body) for name, body in wanted.items()}
    assert (len(done.copied), done.kept, done.removed) == (len(wanted), (), ())


def test_a_second_time_nothing_is_written(store: ObjectStore, campaign: Path, target: Remote) -> None:
    publish(campaign, target)
    before = dict(store.objects)
    store.calls.clear()
    done = publish(campaign, target)
    assert (done.copied, len(done.kept)) == ((), len(contents(campaign)))
    assert store.objects == before
    assert store.calls["put"] == store.calls["delete"] == 0


def test_what_failed_is_no_campaign_and_goes_on_where_it_was(
    store: ObjectStore, campaign: Path, target: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "_AT_ONCE", 1)
    monkeypatch.setattr(publishing, "_NOTED", 2)
    store.faults = [Fault(kind=503, operation="put", key="trial-002/link.json", times=3)]
    with pytest.raises(Unreachable, match=r"trial-002/link\.json"):
        publish(campaign, target)
    with pytest.raises(NotPublished, match="comes last"):
        read_published(target)
    there = store.under("lab/runs/one")
    done = publish(campaign, target)
    kept = {one.file for one in done.kept}
    assert set() != kept <= set(there)
    assert {one.file for one in done.copied} == set(contents(campaign)) - kept
    assert set(store.under("lab/runs/one")) == {*contents(campaign), PUBLISHED}


def test_what_was_noted_and_is_gone_or_cut_since_is_copied_again(
    store: ObjectStore, campaign: Path, target: Remote
) -> None:
    publish(campaign, target)
    gone, cut = "campaign.json", next(name for name in contents(campaign) if name.endswith("sta1.pcap"))
    del store.objects[f"lab/runs/one/{gone}"]
    store.objects[f"lab/runs/one/{cut}"] = b"cut"
    done = publish(campaign, target)
    assert {one.file for one in done.copied} == {gone, cut}
    assert store.under("lab/runs/one")[cut] == contents(campaign)[cut]


def test_a_campaign_that_has_changed_has_no_list_until_it_is_whole_again(
    store: ObjectStore, campaign: Path, target: Remote
) -> None:
    (campaign / "report.html").write_text("one")
    (campaign / "notes.txt").write_text("of no use later")
    publish(campaign, target)
    (campaign / "report.html").write_text("two")
    (campaign / "notes.txt").unlink()
    store.faults = [Fault(kind=503, operation="put", key="report.html", times=3)]
    with pytest.raises(Unreachable):
        publish(campaign, target)
    with pytest.raises(NotPublished):
        read_published(target)
    done = publish(campaign, target)
    assert ([one.file for one in done.copied], done.removed) == (["report.html"], ("notes.txt",))
    assert set(store.under("lab/runs/one")) == {*contents(campaign), PUBLISHED}


def test_bytes_that_come_back_otherwise_are_no_success(
    store: ObjectStore, campaign: Path, target: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Remote.write

    def flipped(self: Remote, source: bytes | Path) -> None:
        write(self, b"other" if self.name == "campaign.json" else source)

    monkeypatch.setattr(Remote, "write", flipped)
    with pytest.raises(NotPublished, match=r"campaign\.json.*5 bytes are not those"):
        publish(campaign, target)


def test_nothing_of_somebody_else_is_touched(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path
) -> None:
    store.objects["lab/runs/one/mine.txt"] = b"mine"
    with pytest.raises(NotPublished, match="no list of a campaign"):
        publish(campaign, target)
    assert store.objects == {"lab/runs/one/mine.txt": b"mine"}
    del store.objects["lab/runs/one/mine.txt"]
    publish(campaign, target)
    before = dict(store.objects)
    other = write_campaign(tmp_path / "other", Spec(scenario="other", networks=("wireline-100m",), trials=1, packets=4))
    with pytest.raises(NotPublished, match="another campaign is there"):
        publish(other, target)
    assert store.objects == before


def test_a_list_that_is_damaged_is_no_list(store: ObjectStore, target: Remote) -> None:
    store.objects[f"lab/runs/one/{PUBLISHED}"] = json.dumps({"version": 1}).encode()
    with pytest.raises(NotPublished, match=PUBLISHED):
        read_published(target)


def test_a_folder_of_this_machine_will_do(campaign: Path, tmp_path: Path) -> None:
    publish(campaign, remote(tmp_path / "there"))
    assert contents(tmp_path / "there").keys() == {*contents(campaign), PUBLISHED}
    assert read_published(remote(tmp_path / "there")).scenario == "synthetic"
