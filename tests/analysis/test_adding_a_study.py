"""What docs/adding-a-study.md shows is a study."""

from __future__ import annotations

import re
from pathlib import Path

from analysis.claims import Verdict, judge
from analysis.papers import read_paper

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-study.md"


def test_the_files_of_the_page_are_a_study(tmp_path: Path) -> None:
    published, record, claims, _ = re.findall(r"```(?:yaml)?\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    for name, text in (("published.csv", published), ("paper.yaml", record), ("claims.yaml", claims)):
        (tmp_path / name).write_text(text)
    paper = read_paper(tmp_path)
    (claim,) = paper.claims
    assert judge(claim, paper.published()).outcomes[0].centre == 3000
    assert judge(claim, paper.published()).verdict is Verdict.INCONCLUSIVE  # one of the values is about
