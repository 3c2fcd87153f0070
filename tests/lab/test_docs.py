"""What the documents point at is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from experiments.scenario.scenario import load

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MAP = (ROOT / "docs" / "architecture.md").read_text()
WALK = re.findall(r"^(\d+)\. (→ )?`(\S+\.py)` `(\w+)`", MAP, re.MULTILINE)
COMMANDS = sorted(
    {name for page in DOCUMENTS for name in re.findall(r"`python (benchmarks/\S+\.py)", page.read_text())}
)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_and_picture_exists(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)", document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


SCENARIOS = [
    pytest.param(text, id=f"{page.name}, {text.split()[1]}")
    for page in DOCUMENTS
    for text in re.findall(r"^```yaml\n(scenario: .*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
]


@pytest.mark.parametrize("text", SCENARIOS)
def test_a_whole_scenario_of_a_page_can_be_run(text: str, tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text(text)
    assert load(tmp_path / "scenario.yaml").cells


def test_there_are_whole_scenarios() -> None:
    assert {one.id for one in SCENARIOS} >= {"README.md, my-question", "mqtt.md, qos-on-lte"}


def test_the_readme_shows_a_picture_and_a_table_of_a_real_run() -> None:
    text = (ROOT / "README.md").read_text()
    assert "docs/images/throughput.png" in text
    assert text.count("| nistnet-80211 |") == 4


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_a_figure_names_exists(command: str) -> None:
    assert (ROOT / command).is_file()


def test_the_walk_from_lab_run_to_a_number_has_at_most_40_steps_and_never_goes_back() -> None:
    files = [file for _, _, file, _ in WALK]
    assert [int(number) for number, *_ in WALK] == list(range(1, len(WALK) + 1))
    assert 30 <= len(files) <= 40
    assert len(set(files)) == len(files)


@pytest.mark.parametrize("step", range(len(WALK)), ids=lambda step: WALK[step][2])
def test_a_step_of_the_walk_is_there_and_an_earlier_one_leads_to_it(step: int) -> None:
    """Of another process (→) only the command is known."""
    _, boundary, file, name = WALK[step]
    text = (ROOT / file).read_text()
    assert re.search(rf"^(?:\s*(?:async )?(?:def|class) {name}\b|{name}\b.*=)", text, re.MULTILINE)
    earlier = [(ROOT / before).read_text() for _, _, before, _ in WALK[:step]]
    assert step == 0 or boundary or any(uses(code, file, name) for code in earlier)


def uses(code: str, file: str, name: str) -> bool:
    """Whether a module names `name`, and imports it from this file or from the package that the file is in."""
    module = file.removesuffix(".py").replace("/", ".")
    imported = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module:
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return bool({module, module.rpartition(".")[0]} & imported) and bool(re.search(rf"\b{name}\b", code))


def test_the_map_is_a_map_and_every_page_is_on_it() -> None:
    assert len(MAP.splitlines()) <= 100
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"architecture.md"}
    assert pages - set(re.findall(r"\((\S+\.md)\)", MAP)) == set()
