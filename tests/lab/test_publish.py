"""`lab publish`: what it says, and what it refuses."""

from __future__ import annotations

from pathlib import Path

from lab_command import lab
from object_store import ObjectStore
from synthetic_campaign import Spec, write_campaign

SMALL = Spec(bodies=(100,), guarantees=("durable, persistent",), networks=("wireline-100m",), trials=2, packets=4)
CELL = "wireline-100m_100_dp"


def test_a_campaign_is_published_and_a_second_time_there_is_nothing_to_do(store: ObjectStore, tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, SMALL)
    first, second = (lab("publish", campaign, store.uri("lab/c"), "--results", tmp_path) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "copied: 15 files" in first.stdout
    assert "published: s3://lab/c" in first.stdout
    assert "2 trials" in first.stdout
    assert "copied" not in second.stdout
    assert "there already: 15 files" in second.stdout
    assert "lab/c/_published.json" in store.objects


def test_a_campaign_with_trials_to_run_is_not_published(store: ObjectStore, tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, Spec(**{**_plain(SMALL), "absent": frozenset({(CELL, 2)})}))
    done = lab("publish", campaign, store.uri("lab/c"), "--results", tmp_path)
    assert done.returncode == 1
    assert "1 trial left to run" in done.stderr
    assert store.objects == {}


def test_what_is_wrong_with_the_place_is_one_message(store: ObjectStore, tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, SMALL)
    store.objects["lab/mine"] = b""
    for uri, status, said in (
        ("s3://key:hush@lab/c", 2, "in a URI is seen by everybody"),
        (store.uri("elsewhere/c"), 1, "no such file, or no such bucket"),
        (store.uri("lab"), 1, "no list of a campaign"),
    ):
        done = lab("publish", campaign, uri, "--results", tmp_path)
        assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (status, True, False), done.stderr
        assert "hush" not in done.stderr


def _plain(spec: Spec) -> dict[str, object]:
    return {name: getattr(spec, name) for name in spec.__slots__}


def test_a_published_campaign_is_reported_from_its_uri(store: ObjectStore, tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, SMALL)
    assert lab("publish", campaign, store.uri("lab/c")).returncode == 0
    at_uri = lab("report", store.uri("lab/c"), cwd=tmp_path)
    assert at_uri.returncode == 0, at_uri.stderr
    here = lab("report", campaign, cwd=tmp_path)
    assert at_uri.stdout.replace("c-report/", "synthetic/c1/") == here.stdout
    page = tmp_path / "c-report" / "report.html"
    assert page.read_bytes() == (campaign / "report.html").read_bytes()


def test_a_campaign_that_is_not_there_as_a_whole_is_refused(store: ObjectStore, tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, SMALL)
    copy = tmp_path / "copy"
    assert lab("publish", campaign, copy).returncode == 0
    assert lab("report", copy, cwd=tmp_path).returncode == 0
    (copy / "_published.json").rename(copy / "_publishing-00000.json")
    for where, said in ((copy, "not copied to its end"), (store.uri("lab/none"), "comes last")):
        done = lab("report", where, cwd=tmp_path)
        assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (1, True, False), done.stderr
    done = lab("report", store.uri("lab/none"), "--by", "nothing", "--out", tmp_path / "x", cwd=tmp_path)
    assert done.returncode == 1
    assert lab("report", campaign, "--out", tmp_path / "x").returncode == 2
