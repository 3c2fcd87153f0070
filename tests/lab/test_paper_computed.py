"""A study's program is run for its page, and one that fails is told of."""

from __future__ import annotations

from pathlib import Path

import pytest

import lab.computed
from analysis.papers.computed import ComputedError
from analysis.papers.record import ComputedCases, Record
from lab.computed import computed


def record(**computed: object) -> Record:
    return Record.model_validate(
        {"name": "small", "title": "Small", "authors": "Nobody", "networks": {"lan": "wireline-100m"}, **computed}
    )


CHANCE = {"computed": ComputedCases(program="chance.py", cases={"chance": "chance of something"})}


def test_values_come_from_the_studys_program_which_imports_what_the_lab_can(tmp_path: Path) -> None:
    (tmp_path / "chance.py").write_text(
        "import stacks.iris.ids\nprint('case,metric,seed,value')\nprint('chance,computed_share,,0.5')\n"
    )
    found = computed(tmp_path, record(**CHANCE))
    assert found["chance", "computed_share"].values == {0: 0.5}
    assert found["chance", "computed_share"].command == f"python {tmp_path / 'chance.py'} chance"


def test_a_study_without_a_program_has_no_such_values(tmp_path: Path) -> None:
    assert computed(tmp_path, record()) == {}


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("raise SystemExit('no worlds left')", "ended with status 1: no worlds left"),
        ("print('case')", "chance.py: begins with case,metric,seed,value"),
        ("import time; time.sleep(60)", "not done after 0.2 s"),
    ],
)
def test_a_program_that_fails_is_told_of(
    program: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "sleep" in program:
        monkeypatch.setattr(lab.computed, "LIMIT_S", 0.2)
    (tmp_path / "chance.py").write_text(program)
    with pytest.raises(ComputedError, match=told):
        computed(tmp_path, record(**CHANCE))
