"""Reference results that are kept with the code: whole, counted right in the README, and of the claims they are of."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

from invented_results import FOLDER, PAPER

from analysis.claims import judge, load_claims

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "results" / "reference" / "gaddah-kunz"
RESULTS = json.loads((REFERENCE / "paper-tables" / "claims.json").read_text())
# The reading of the study that they were judged by stands beside them where it is not today's.
JUDGED_BY = REFERENCE / "claims.yaml" if (REFERENCE / "claims.yaml").exists() else FOLDER / "claims.yaml"
CLAIMS = load_claims(JUDGED_BY, cases=PAPER.cases, networks=tuple(PAPER.record.networks))


def test_every_claim_that_they_were_judged_by_has_a_verdict_and_there_are_no_others() -> None:
    assert list(RESULTS["claims"]) == [claim.id for claim in CLAIMS]
    assert PAPER.record.link_bound
    assert RESULTS["link_bound"]["measured"] == sum(len(side.cases) for side in PAPER.record.link_bound.rows)


def test_the_published_numbers_support_each_of_them_as_they_did() -> None:
    for claim in CLAIMS:
        told = RESULTS["claims"][claim.id]["published"]
        assert {name: judge(claim, PAPER.published(name)).verdict for name in PAPER.readings} == told, claim.id


def test_which_reading_judged_them_is_recorded_or_beside_them() -> None:
    digest = hashlib.sha256(JUDGED_BY.read_bytes()).hexdigest()
    assert RESULTS.get("claims_sha256", digest) == digest
    if JUDGED_BY.parent == REFERENCE:
        assert "were not judged by them" in JUDGED_BY.read_text()


def test_the_readme_counts_them_right() -> None:
    verdicts = Counter(one["ours"] for one in RESULTS["claims"].values())
    text = " ".join((ROOT / "README.md").read_text().split())
    (told,) = re.findall(r"the study's (\d+) claims (\d+) hold, (\d+) do not, (\d+) are inconclusive", text)
    kinds = ("holds", "does not hold", "inconclusive")
    assert [int(number) for number in told] == [len(CLAIMS), *(verdicts[kind] for kind in kinds)]
    if JUDGED_BY.parent == REFERENCE:
        assert "as the claims were read then" in text
    (near,) = re.findall(r"of the 16 rows of large messages (\d+) are within 15 %", text)
    assert int(near) == RESULTS["link_bound"]["near"]
