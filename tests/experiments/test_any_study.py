"""Any folder with a paper.yaml is a study, whatever its cases are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import papers
from experiments.papers import UnknownPaper

MATRIX = """\
scenario: small
network: [wireline-100m, lte]
stack: reference
workload: {clients: {publishers: 1, subscribers: 1, topics: 1}, body_bytes: 100}
cases:
  - {case: n2, stations: 2}
  - {case: n8, stations: 8}
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "small_study"
    folder.mkdir()
    (folder / "paper.yaml").write_text("title: Small\nnetworks:\n  lan: wireline-100m\n  air: lte\n")
    (folder / "matrix.yaml").write_text(MATRIX)
    monkeypatch.setattr(papers, "HERE", tmp_path)
    return folder


def test_its_name_is_its_folders_with_either_line(study: Path) -> None:
    assert papers.studies() == {"small-study": study}
    assert papers.folder_of("small-study") == papers.folder_of("small_study") == study
    assert papers.title(study) == "Small"


def test_two_folders_of_one_name_are_refused(study: Path) -> None:
    twin = study.parent / "small-study"
    twin.mkdir()
    (twin / "paper.yaml").write_text("title: Twin")
    with pytest.raises(UnknownPaper, match="both are the study 'small-study'; rename one"):
        papers.studies()


@pytest.mark.parametrize(
    ("text", "told"),
    [("title: {", "paper.yaml:2: not YAML"), ("- 1", "paper.yaml:1: title: is missing"), ("a: 1", "title: is missing")],
)
def test_a_record_without_a_title_is_listed_with_what_is_wrong(study: Path, text: str, told: str) -> None:
    (study / "paper.yaml").write_text(text)
    assert told in papers.title(study)


def test_its_cases_are_chosen_by_their_names(study: Path) -> None:
    whole = papers.whole(study)
    part = papers.chosen(whole, number=None, tests=(), only=["case=n8", "network=lte"], quick=True)
    assert [cell.name for cell in part.cells] == ["network=lte,case=n8"]
    with pytest.raises(UnknownPaper, match=r"named by their row, .* here choose with --only case=n2 or --only case=n8"):
        papers.chosen(whole, number=1, tests=(), quick=False)


def test_what_was_published_and_is_not_run_is_named(study: Path) -> None:
    whole = papers.whole(study)
    links = {"lan": "wireline-100m", "air": "lte"}
    assert papers.unrun(study, whole, networks=links, published=["n2", "n8"]) == ()
    assert papers.unrun(study, whole, networks=links, published=["n2", "n16"]) == ("n16",)
    with pytest.raises(UnknownPaper, match="none of its cases was published: n2, n8"):
        papers.unrun(study, whole, networks=links, published=["m2"])
    with pytest.raises(
        UnknownPaper, match=r"paper\.yaml:4: networks\.air: 'wlan' is no network of matrix\.yaml: lte, w"
    ):
        papers.unrun(study, whole, networks=links | {"air": "wlan"}, published=["n2"])


def test_a_scenario_without_cases_is_no_study(study: Path) -> None:
    (study / "matrix.yaml").write_text(MATRIX.partition("cases:")[0])
    with pytest.raises(UnknownPaper, match=r"matrix\.yaml: a study's scenario has `cases`"):
        papers.whole(study)
