"""Tasks keep what they have reduced, and give what the driver's own process would."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pytest
from object_store import ObjectStore
from packs import reduced
from synthetic_campaign import Spec, write_campaign

from analysis.reductions.code import code_digest
from analysis.reductions.kept import State, look
from analysis.reductions.published import copy_records, reducing_published
from analysis.reductions.reduce import reducing
from records.location import Remote, locate
from records.publishing import publish, read_published
from records.store import trials


@pytest.mark.usefixtures("shared_session")
def test_tasks_keep_their_trials_and_give_the_same_rows(tmp_path: Path) -> None:
    spec = Spec(bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",), trials=3, packets=6)
    paths = [trial.path for trial in trials(write_campaign(tmp_path, spec))]
    with reducing(master="local[2]") as reduce:
        reduce(paths[1:2])
        rows = reduce(paths)
    plain = reduced(paths)
    for number in range(len(paths)):
        mine, theirs = (table.filter(pc.equal(table.column("trial"), number)) for table in (rows, plain))
        assert mine == theirs
    assert {look(path, code_digest()).state for path in paths} == {State.CURRENT}


@pytest.mark.usefixtures("shared_session")
def test_tasks_fetch_what_they_reduce_of_a_published_campaign_and_keep_it_there(
    store: ObjectStore, tmp_path: Path
) -> None:
    spec = Spec(bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",), trials=2, packets=6)
    campaign = write_campaign(tmp_path, spec)
    target = locate(store.uri("lab/c"))
    assert isinstance(target, Remote)
    publish(campaign, target)
    store.objects.pop(f"lab/c/{(trials(campaign)[1].path / 'sta1.pcap').relative_to(campaign)}")
    copy = copy_records(target, read_published(target), tmp_path / "copy")
    with reducing_published(copy, master="local[2]") as reduce:
        rows = reduce([trial.path for trial in trials(copy.folder)])
    first, second = (rows.filter(pc.equal(rows.column("trial"), number)) for number in range(2))
    assert first.drop_columns(["trial"]) == reduced([trials(campaign)[0].path]).drop_columns(["trial"])
    assert second.column("table").to_pylist() == ["damage"]
    assert "no such file" in second.column("text").to_pylist()[0]
    assert sum(name.startswith("lab/c/reduced/") for name in store.objects) == 2
