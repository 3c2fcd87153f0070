"""`--medium`: what a user types, what is refused, and where `lab` says which medium a profile gets."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from lab_command import lab
from rich.console import Console

from emulation.plan.stages import Feature
from emulation.profile.media import WantedMedium
from experiments.workers.kernels import Kernels
from lab.profiles import table
from lab.within import Command, options, resuming

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
FAR = FIXTURES / "scenario-needs-netem" / "scenario.yaml"
EVERYTHING = dict.fromkeys(Feature, "")


@pytest.mark.parametrize(
    "words",
    [
        ("run", FAR),
        ("resume",),
        ("paper", "gaddah-kunz"),
        ("replay", "nowhere"),
        ("shell", "lte"),
        ("calibrate", "lte"),
    ],
)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--medium", "radio"), "--medium: 'radio' is not one of auto, line, tc"),
        (
            ("--kernel", "lab", "--medium", "line"),
            "--kernel lab --medium line: the line runs on the machine's own kernel",
        ),
    ],
)
def test_every_verb_that_takes_a_kernel_takes_a_medium(
    words: tuple[str | Path, ...], options: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    to = {"shell": (), "calibrate": ("--out", tmp_path / "out")}.get(str(words[0]), ("--results", tmp_path))
    done = lab(*words, *options, *to)
    assert (done.returncode, done.stderr.startswith(said)) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "option"), [("AIRWIRE_MEDIUM", "--medium"), ("AIRWIRE_RUN_ON", "--kernel")])
def test_the_environment_may_say_it(tmp_path: Path, name: str, option: str) -> None:
    done = lab("run", FAR, "--results", tmp_path, env={**os.environ, name: "radio"})
    assert (done.returncode, f"{option}: 'radio'" in done.stderr) == (2, True)
    done = lab("calibrate", "no-such", "--out", tmp_path / "out", env={**os.environ, name: "radio"})
    assert (done.returncode, option in done.stderr, "no-such" in done.stderr) == (2, False, True)


def test_the_environment_may_say_where_results_are(tmp_path: Path) -> None:
    done = lab("list", env={**os.environ, "AIRWIRE_RESULTS": str(tmp_path / "elsewhere")})
    assert done.stdout.startswith(f"{tmp_path / 'elsewhere'}: no campaign here yet")


def test_the_words_that_go_on_say_the_medium_where_it_was_said() -> None:
    again = resuming(Path("/results/a"), kernel="host", medium="line", duration="40m")
    assert again.text() == "lab resume /results/a --kernel host --medium line --for 40m"
    assert options(medium="tc") == ("--medium", "tc")
    assert "--medium" not in Command(words=("paper", *options())).text()


def test_make_hands_the_medium_on() -> None:
    for target in ("experiment", "paper-gaddah-kunz", "resume", "calibrate"):
        said = [
            subprocess.run(["make", "-n", target, *words], capture_output=True, text=True, cwd=ROOT, check=True).stdout
            for words in ([], ["MEDIUM=line", "KERNEL=host"])
        ]
        assert "--medium" not in said[0], "the environment's word, or what the verb takes by itself"
        assert "--kernel host --medium line" in said[1]


def rows(medium: WantedMedium, host: dict[Feature, str]) -> dict[str, list[str]]:
    """Of `lab profiles`, where it runs and by what, by profile."""
    kernels = Kernels(medium=medium)
    kernels.__dict__.update({"host_features": host, "no_lab": "not installed"})
    found = table(kernels)
    names = list(next(column for column in found.columns if column.header == "profile").cells)
    shown = [
        [str(cell) for cell in column.cells] for column in found.columns if column.header in ("runs on", "link by")
    ]
    return {str(name): [column[number] for column in shown] for number, name in enumerate(names)}


@pytest.mark.skipif(bool(os.geteuid()), reason="an ordinary user's links are all made in the lab kernel")
def test_profiles_says_which_medium_each_gets_and_for_how_many_stations() -> None:
    by_line = rows("line", EVERYTHING)
    assert by_line["lte"] == ["host", "line, 6 stations at most"]
    assert by_line["5g"] == ["host", "line, 1 station at most"]
    assert by_line["nistnet-80211"] == ["host", "line"]
    assert by_line["wireline-1g"] == ["nowhere here", "-"]
    assert set(map(tuple, rows("tc", EVERYTHING).values())) == {("host", "tc")}
    console = Console(record=True, width=400, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(table(Kernels(medium="tc")))
    assert "link by" in console.export_text()
