"""What is generated is up to date: the tables of what stacks declare and of what they keep, the lock file."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lab import generate
from records.errors import CannotGoOn
from stacks import folders

ROOT = Path(__file__).parents[2]
PROJECT, STACKS = "airwire (pyproject.toml)", "-r build/stacks.in"
CURE = "`make generate` writes it anew"


def locked(text: str) -> dict[str, tuple[str, str]]:
    """Package to its version and the comment that says for whom it is there."""
    parts = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    found = {}
    for part in parts:
        name, version = part.split(maxsplit=1)[0].split("==")
        found[canonicalize_name(name)] = (version, part.partition("# via")[2])
    return found


def lacking(text: str, wanted: list[str], origin: str) -> list[str]:
    """The requirements that a lock file does not fulfil, and what it has for an origin that asks for no such thing."""
    have, asked = locked(text), {canonicalize_name(Requirement(one).name): Requirement(one) for one in wanted}
    missing = [str(one) for name, one in asked.items() if name not in have or not one.specifier.contains(have[name][0])]
    return missing + [name for name, (_, via) in have.items() if origin in via and name not in asked]


def of_project() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["test"]]


@pytest.mark.parametrize("page", generate.TABLES, ids=lambda page: page.name)
def test_a_table_is_that_of_what_it_is_made_from(page: Path) -> None:
    assert generate.filled(page, generate.TABLES[page]) == page.read_text(), CURE


def test_the_readmes_table_has_every_stack() -> None:
    for name in folders.Found(folders.own()).names():
        assert f"| `{name}` |" in generate.README.read_text()


def test_a_table_without_its_place_is_told(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("# Airwire\n")
    with pytest.raises(CannotGoOn, match=r"README\.md: has no lines <!-- made by"):
        generate.filled(page, generate.table)


def test_a_broken_promise_is_shown_with_how_it_was_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(generate, "CONFORMANCE", tmp_path)
    for stack, answer, why in (("one", "kept", ""), ("two", "broken", "3 of 90 were answered and never arrived")):
        told = {"promise": "queue", "about": "nothing is lost", "answer": answer, "why": why}
        (tmp_path / f"{stack}.json").write_text(json.dumps({"stack": stack, "promises": [told]}))
    assert generate.kept().splitlines() == [
        "| promise | `one` | `two` |",
        "| --- | --- | --- |",
        "| queue: nothing is lost | kept | **broken** |",
        "",
        "* `two`, queue: 3 of 90 were answered and never arrived.",
    ]


def test_results_of_other_promises_make_no_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(generate, "CONFORMANCE", tmp_path)
    with pytest.raises(CannotGoOn, match="not one set of promises, but 0"):
        generate.kept()
    for stack in ("one", "two"):
        told = {"promise": stack, "about": "", "answer": "kept", "why": ""}
        (tmp_path / f"{stack}.json").write_text(json.dumps({"stack": stack, "promises": [told]}))
    with pytest.raises(CannotGoOn, match="not one set of promises, but 2"):
        generate.kept()


@pytest.mark.parametrize(
    "text",
    [
        '{"stack": "one", "promises": [{"promise": "que', "", "[]", '{"stack": "one"}', '{"promises": 1}',
        '{"promises": [{"promise": "queue", "about": "", "answer": "kept"}]}',
        '{"promises": [{"promise": "queue", "about": "", "answer": "perhaps", "why": ""}]}',
    ],
)  # fmt: skip
def test_a_result_that_is_none_is_named_with_the_cure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    monkeypatch.setattr(generate, "CONFORMANCE", tmp_path)
    (tmp_path / "one.json").write_text(text)
    with pytest.raises(CannotGoOn, match=r"one\.json: not what `lab conform --json` writes .*; `make conform`"):
        generate.kept()


def test_the_lock_file_has_what_the_project_and_its_stacks_need_and_no_more() -> None:
    text = generate.LOCK.read_text()
    assert lacking(text, of_project(), PROJECT) == [], CURE
    assert lacking(text, [*generate.requirements()], STACKS) == [], CURE


def test_a_lock_file_that_is_out_of_date_is_noticed() -> None:
    text = f"one==1.2 \\\n    --hash=sha256:00\n    # via {STACKS}\ntwo==3 \\\n    --hash=sha256:00\n    # via one\n"
    assert lacking(text, ["One>=1,<2"], STACKS) == []
    assert lacking(text, ["one==1.3"], STACKS) == ["one==1.3"]
    assert lacking(text, ["one==1.2", "three"], STACKS) == ["three"]
    assert lacking(text, [], STACKS) == ["one"]


@pytest.mark.parametrize("word", ["uv", "pip"])
def test_a_lock_that_cannot_be_made_is_told(word: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "build" / "lock" / "bin").mkdir(parents=True)
    for name, status in (("pip", word == "pip"), ("uv", word == "uv")):
        tool = tmp_path / "build" / "lock" / "bin" / name
        tool.write_text(f"#!/bin/sh\nexit {int(status)}\n")
        tool.chmod(0o755)
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    if word == "pip":
        (tmp_path / "build" / "lock" / "bin" / "uv").unlink()
        monkeypatch.setattr(generate.sys, "executable", "true")
    with pytest.raises(CannotGoOn, match=rf"bin/{word} .*: ended with status 1; requirements\.lock is as it was"):
        generate.lock()


def test_what_cannot_be_made_is_one_line_and_a_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("no table here\n")
    monkeypatch.setattr(generate, "TABLES", {page: generate.table})
    assert generate.main(["tables"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{page}: has no lines ")
    assert page.read_text() == "no table here\n"
