"""A campaign at a URI: whole or without its list, gone on with after a failure, never mixed with another."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from object_store import Fault, ObjectStore
from synthetic_campaign import Spec, write_campaign

from records import location, publishing
from records.bundle import BUNDLE, encode
from records.filenames import INDEXES, MANIFEST
from records.location import Remote, Unreachable, locate, remote
from records.packed import PACKED
from records.publishing import (
    PUBLISHED,
    Listed,
    NotPublished,
    Published,
    Tally,
    fetch_records,
    publish,
    published_below,
    read_published,
)
from records.store import trial_name

OURS = {PUBLISHED, BUNDLE}
CELL = "nistnet-80211_100_dp"
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
    assert {name: body for name, body in there.items() if name not in OURS} == wanted
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
    assert set(store.under("lab/runs/one")) == {*contents(campaign), *OURS}


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
    assert set(store.under("lab/runs/one")) == {*contents(campaign), *OURS}


def test_what_a_trial_has_lost_here_is_not_taken_from_its_copy(
    store: ObjectStore, campaign: Path, target: Remote
) -> None:
    publish(campaign, target)
    before = dict(store.objects)
    trial = campaign / CELL / "trial-002"
    (trial / "sta1.pcap").unlink()
    (trial / "published.parquet").unlink()
    (trial / PACKED).write_text("a pack's")
    with pytest.raises(NotPublished, match=rf"it has 2 files .* the first {CELL}/trial-002/published\.parquet"):
        publish(campaign, target)
    assert store.objects == before


def test_of_a_trial_that_was_run_again_or_has_come_back_whole_only_what_it_has_stays(
    store: ObjectStore, campaign: Path, target: Remote
) -> None:
    first, second = (campaign / CELL / trial_name(number) for number in (1, 2))
    (second / PACKED).write_text("a pack's")
    publish(campaign, target)
    (first / "sta1.pcap").unlink()
    (first / MANIFEST).write_text(f"{(first / MANIFEST).read_text()}\n")
    (second / PACKED).unlink()
    done = publish(campaign, target)
    assert done.removed == (f"{CELL}/trial-001/sta1.pcap", f"{CELL}/trial-002/{PACKED}")
    assert set(store.under("lab/runs/one")) == {*contents(campaign), *OURS}


def test_a_folder_that_cannot_be_looked_into_ends_it(
    campaign: Path, target: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def closed(path: str) -> Iterator[os.DirEntry[str]]:
        if Path(path).name == "trial-002":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    with pytest.raises(PermissionError, match="trial-002"):
        publish(campaign, target)


def test_bytes_that_come_back_otherwise_are_no_success(
    store: ObjectStore, campaign: Path, target: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Remote.write

    def flipped(self: Remote, source: bytes | Path) -> None:
        write(self, b"other" if self.name == "campaign.json" else source)

    monkeypatch.setattr(Remote, "write", flipped)
    with pytest.raises(NotPublished, match=r"campaign\.json.*5 bytes are not those"):
        publish(campaign, target)


def test_what_goes_after_it_was_read_back_is_no_success(
    store: ObjectStore, campaign: Path, target: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = publishing._sent

    def and_one_goes(*words: Any) -> Iterator[Listed]:
        yield from sent(*words)
        del store.objects[next(name for name in store.objects if name.endswith("trial-002/link.json"))]

    monkeypatch.setattr(publishing, "_sent", and_one_goes)
    with pytest.raises(NotPublished, match=r"1 files are not there as they were sent, the first .*trial-002/link.json"):
        publish(campaign, target)
    assert PUBLISHED not in store.under("lab/runs/one")


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


@pytest.mark.parametrize(
    "names",
    [
        {"campaign": "/elsewhere"}, {"campaign": "../../x"}, {"campaign": ".x"}, {"campaign": "latest"},
        {"scenario": "../x"}, {"scenario": "/x"}, {"scenario": ""},
    ],
)  # fmt: skip
def test_a_list_whose_names_lead_elsewhere_is_no_list(
    store: ObjectStore, target: Remote, names: dict[str, str]
) -> None:
    whole = {"scenario": "s", "campaign": "c1", "created": "", "digest": "", "files": []}
    store.objects[f"lab/runs/one/{PUBLISHED}"] = json.dumps(whole).encode()
    assert read_published(target).campaign == "c1"
    store.objects[f"lab/runs/one/{PUBLISHED}"] = json.dumps(whole | names).encode()
    with pytest.raises(NotPublished, match=next(iter(names))):
        read_published(target)


def test_a_file_that_goes_while_it_is_copied_is_named_and_not_the_place(
    campaign: Path, target: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = publishing._listed

    def then_gone(folder: Path, name: str) -> object:
        found = listed(folder, name)
        if name == "campaign.json":
            (folder / name).unlink()
        return found

    monkeypatch.setattr(publishing, "_listed", then_gone)
    with pytest.raises(NotPublished, match=r"campaign\.json: it has gone since the copying began"):
        publish(campaign, target)


def test_a_folder_of_this_machine_will_do(campaign: Path, tmp_path: Path) -> None:
    publish(campaign, remote(tmp_path / "there"))
    assert contents(tmp_path / "there").keys() == {*contents(campaign), *OURS}
    assert read_published(remote(tmp_path / "there")).scenario == "synthetic"


def test_what_is_made_for_the_place_where_a_campaign_stands_does_not_go_along(
    campaign: Path, target: Remote, tmp_path: Path
) -> None:
    wanted = set(contents(campaign))
    (campaign / INDEXES).mkdir()
    (campaign / INDEXES / "sta1.pcap.json").write_text("{}")
    publish(campaign, remote(tmp_path / "there"))
    publish(tmp_path / "there", target)
    assert {one.file for one in read_published(target).files} == wanted


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(
    ("name", "leads_to"),
    [
        ("notes.txt", "{outside}/notes.txt"), (f"{CELL}/trial-001/more.pcap", "sta1.pcap"),
        (f"{CELL}/trial-003", "trial-001"), ("more", "{outside}"), ("gone.txt", "{outside}/nothing"),
    ],
)  # fmt: skip
def test_a_link_is_refused_by_its_name_and_what_is_there_stays(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path, *, name: str, leads_to: str, again: bool
) -> None:
    (tmp_path / "notes.txt").write_text("nobody's to give away")
    if again:
        publish(campaign, target)
    before = dict(store.objects)
    (campaign / name).symlink_to(leads_to.format(outside=tmp_path))
    with pytest.raises(NotPublished, match=rf"{re.escape(f'{campaign}/{name}')}: a link"):
        publish(campaign, target)
    assert store.objects == before
    assert bool(store.objects) == again


def test_what_a_killed_copying_left_does_not_go_along(campaign: Path, target: Remote) -> None:
    wanted = set(contents(campaign)) | {"notes.partial-1", f"{CELL}/trial-001/_publishing-00000.json"}
    (campaign / "notes.partial-1").write_text("somebody's own")
    (campaign / CELL / "trial-001" / "_publishing-00000.json").write_text("somebody's own")
    for folder in (campaign, campaign / CELL / "trial-001"):
        (folder / f"sta1.pcap.partial-{uuid4().hex}").write_bytes(b"half of it")
    (campaign / "_publishing-00000.json").write_text("{}")
    publish(campaign, target)
    assert {one.file for one in read_published(target).files} == wanted


@pytest.mark.parametrize("harm", ["", "one is another", "one lacks", "no such file", "damaged"])
def test_records_come_by_one_call_and_those_that_are_not_together_each_by_its_own(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path, harm: str
) -> None:
    wanted = {name: body for name, body in contents(campaign).items() if name.endswith(".json")}
    publish(campaign, target)
    files = [one for one in read_published(target).files if one.file in wanted]
    key, bodies = f"lab/runs/one/{BUNDLE}", {}
    if harm == "no such file":
        del store.objects[key]
    elif harm == "damaged":
        store.objects[key] = store.objects[key][:-20]
    elif harm:
        (campaign / files[0].file).write_text("another")
        bodies[key] = encode(campaign, [one.file for one in files[harm == "one lacks" :]])
    store.objects |= bodies
    store.calls.clear()
    fetch_records(target, files, tmp_path / "copy")
    assert contents(tmp_path / "copy") == wanted
    alone = {"": 0, "one is another": 1, "one lacks": 1}.get(harm, len(files))
    assert store.calls["head"] == 1 + alone


def test_some_records_are_fetched_only_where_that_costs_no_call(
    store: ObjectStore, campaign: Path, target: Remote, tmp_path: Path
) -> None:
    publish(campaign, target)
    files = [one for one in read_published(target).files if one.file.endswith(".json")]
    fetch_records(target, files[:1], tmp_path / "one", if_bundled=files[1:])
    assert len(contents(tmp_path / "one")) == len(files)
    del store.objects[f"lab/runs/one/{BUNDLE}"]
    fetch_records(target, files[:1], tmp_path / "two", if_bundled=files[1:])
    assert list(contents(tmp_path / "two")) == [files[0].file]


def test_the_list_says_how_far_the_campaign_got(store: ObjectStore, campaign: Path, target: Remote) -> None:
    publish(campaign, target)
    assert read_published(target).tally is None
    tally = Tally(done=4, planned=4, states={"valid": 3, "invalid": 1}, cells={}, packed=0)
    store.calls.clear()
    assert publish(campaign, target, tally=tally).copied == ()
    assert read_published(target).tally == tally
    store.calls.clear()
    publish(campaign, target, tally=tally)
    assert store.calls["put"] == 0


def test_campaigns_are_found_in_folders_of_a_uri_by_a_listing_for_each(
    store: ObjectStore, campaign: Path, target: Remote
) -> None:
    publish(campaign, target)
    whole = store.under("lab/runs/one")
    store.objects |= {f"lab/runs/deeper/two/{name}": body for name, body in whole.items()}
    store.objects |= {f"lab/runs/deeper/far/too/far/{name}": body for name, body in whole.items()}
    store.objects |= {"lab/runs/cut/_published.json": b"{", "lab/runs/half/_publishing-00000.json": b"{}"}
    store.page_keys = 1000
    store.calls.clear()
    runs = Remote(target.scheme, "lab/runs", target.query)
    found = published_below(runs)
    assert {one.path.removeprefix("lab/runs/"): type(what) for one, what in found.items()} == {
        "one": Published, "cut": NotPublished, "half": NotPublished, "deeper/two": Published,
    }  # fmt: skip
    assert store.calls["list"] == len(["runs", "one", "deeper", "cut", "half", "deeper/two", "deeper/far"])
    assert list(published_below(target)) == [target]
    for nothing in (runs / "none", Remote(target.scheme, "elsewhere", target.query)):
        with pytest.raises(NotPublished, match="copies one there"):
            published_below(nothing)
