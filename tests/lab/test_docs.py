"""What the documents point at is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_and_picture_exists(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)", document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_the_readme_shows_a_picture_and_a_table_of_a_real_run() -> None:
    text = (ROOT / "README.md").read_text()
    assert "docs/images/throughput.png" in text
    assert text.count("| nistnet-80211 |") == 4


@pytest.mark.parametrize("command", re.findall(r"`python (benchmarks/\S+\.py)", DOCUMENTS[1].read_text()))
def test_every_command_that_a_figure_names_exists(command: str) -> None:
    assert (ROOT / command).is_file()
