"""Tasks keep what they have reduced, and give what the driver's own process would."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pytest
from packs import reduced
from synthetic_campaign import Spec, write_campaign

from analysis.reductions.code import code_digest
from analysis.reductions.kept import State, look
from analysis.reductions.reduce import reducing
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
