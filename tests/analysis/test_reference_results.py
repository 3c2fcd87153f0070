"""Reference results that are kept with the code: of the claims that are there, and counted right in the README."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

from invented_results import PAPER

ROOT = Path(__file__).parents[2]
RESULTS = json.loads((ROOT / "results" / "reference" / "gaddah-kunz" / "paper-tables" / "claims.json").read_text())


def test_every_claim_has_a_verdict_and_there_are_no_others() -> None:
    assert list(RESULTS["claims"]) == [claim.id for claim in PAPER.claims]
    assert RESULTS["link_bound"]["measured"] == sum(len(side.cases) for side in PAPER.record.link_bound.rows)


def test_the_readme_counts_them_right() -> None:
    verdicts = Counter(one["ours"] for one in RESULTS["claims"].values())
    text = " ".join((ROOT / "README.md").read_text().split())
    (told,) = re.findall(r"the study's (\d+) claims (\d+) hold, (\d+) do not, (\d+) are inconclusive", text)
    kinds = ("holds", "does not hold", "inconclusive")
    assert [int(number) for number in told] == [len(PAPER.claims), *(verdicts[kind] for kind in kinds)]
    (near,) = re.findall(r"of the 16 rows of large messages (\d+) are within 15 %", text)
    assert int(near) == RESULTS["link_bound"]["near"]
