"""Which campaign is meant, what is not one, and what others' names may do to a terminal."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text
from synthetic_campaign import Spec, write_campaign
from typer.testing import CliRunner, Result

from lab import list_, reductions
from lab.common import Screen
from lab.main import app

ROOT = Path(__file__).parents[2]
SPEC = Spec(bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",), trials=1, packets=6)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return write_campaign(tmp_path / "results", SPEC)


def asked(*words: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in words])


@pytest.mark.parametrize("verb", ["report", "resume", "reductions", "export", "pack", "publish", "sql"])
def test_the_folder_above_a_campaign_is_none_and_the_one_in_it_is_named(
    campaign: Path, tmp_path: Path, verb: str
) -> None:
    more = {
        "export": ["--out", tmp_path / "out"], "pack": ["--out", tmp_path / "pack"], "publish": [tmp_path / "copy"],
        "sql": [],
    }  # fmt: skip
    words = [campaign.parent, *more.get(verb, [])]
    done = asked(verb, *(["SELECT * FROM cells"] if verb == "sql" else []), *words, "--results", tmp_path / "results")
    assert done.exit_code == 2, done.output
    assert "no campaign (there is no campaign.json in it); the latest one in it is" in done.stderr
    assert campaign.name in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results"]


def test_a_campaign_is_not_published_into_itself(campaign: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    (tmp_path / "link").symlink_to(campaign)
    for place in (campaign, campaign / "in", f"file://{campaign}/in", tmp_path / "link" / "in"):
        done = asked("publish", campaign, place, "--results", tmp_path / "results")
        assert (done.exit_code, "in the campaign's own folder" in done.stderr) == (2, True), done.output
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "link"])


def test_a_campaign_that_cannot_be_read_hides_no_other(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write_campaign(tmp_path / "results", replace(SPEC, name="20240101-000000-aaaaaaaa"))

    def refusing(made: object) -> object:
        def called(folder: Path) -> object:
            if folder == other:
                raise PermissionError(13, "Permission denied", str(other / "a"))
            return made(folder)  # type: ignore[operator]

        return called

    monkeypatch.setattr(list_, "tally", refusing(list_.tally))
    monkeypatch.setattr(reductions, "trials", refusing(reductions.trials))
    for verb, status in (("list", 0), ("reductions", 1)):
        done = asked(verb, "--results", tmp_path / "results")
        assert done.exit_code == status, done.output
        assert "Permission denied" in done.stdout
        assert campaign.name in done.stdout


@given(st.text(st.characters(max_codepoint=0x2FF), max_size=40))
def test_no_text_of_others_moves_the_cursor_or_hides_anything(text: str) -> None:
    for what in (text, Text(text), f"a[{text}"):
        file = io.StringIO()
        screen = Screen(file=file, highlight=False, markup=False, width=200)
        table = Table("name", box=None)
        table.add_row(Text(text))
        for printed in (what, table):
            screen.print(printed)
        assert not [one for one in file.getvalue() if (ord(one) < 32 and one != "\n") or 0x7F <= ord(one) < 0xA0]


def test_colours_are_still_shown() -> None:
    file = io.StringIO()
    Screen(file=file, force_terminal=True, color_system="standard").print("gone", style="red")
    assert file.getvalue() == "\x1b[31mgone\x1b[0m\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_with_a_closed_stream_a_command_ends_as_it_would(campaign: Path, closed: str) -> None:
    script = f'"$0" -m lab compare "$1" "$1-none" --results "$2" {closed}'
    words = ["sh", "-c", script, sys.executable, str(campaign), str(campaign.parents[1])]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, "Traceback" in done.stdout + done.stderr) == (2, False), done.stderr
