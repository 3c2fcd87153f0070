"""What stands between a command and its first word on the screen."""

from __future__ import annotations

import inspect
import io
import json
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console

from lab.main import VERBS
from lab.verbs import dispatch

ROOT = Path(__file__).parents[2]
# Help needs these: the command line's own libraries, and of ours the verbs and the kinds of errors.
LIGHT = {"lab", "records", "typer", "rich", "pydantic", "pydantic_core", "annotated_types", "typing_extensions"}
LIGHT |= {"typing_inspection", "annotated_doc", "shellingham", "markdown_it", "mdurl", "pygments", "colorama"}

HELP = """
import contextlib, io, json, sys
before = set(sys.modules)
from lab.main import VERBS, app
for words in ([], *([verb] for verb in VERBS)):
    with contextlib.redirect_stdout(io.StringIO()):
        app([*words, "--help"], standalone_mode=False)
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_help_imports_neither_what_verbs_do_nor_what_computes_or_draws() -> None:
    command = [sys.executable, "-c", HELP]
    said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=True).stdout
    imported = json.loads(said)
    others = {name.partition(".")[0] for name in imported} - LIGHT - sys.stdlib_module_names
    assert {name for name in others if not name.startswith("_")} == set()
    ours = {name for name in imported if name.startswith(("lab.", "records.")) and not name.startswith("lab.verbs")}
    assert ours == {"lab.main", "lab.common", "lab.options", "records.errors"}


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_verb_is_done_by_a_function_of_its_name_with_its_parameters(verb: str) -> None:
    declared = inspect.unwrap(VERBS[verb])
    work = getattr(import_module(f"lab.{declared.__module__.rpartition('.')[2]}"), declared.__name__)
    assert list(inspect.signature(work).parameters) == list(inspect.signature(declared).parameters)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    shown = io.StringIO()
    monkeypatch.setattr(dispatch, "err", Console(file=shown, force_terminal=True, _environ={"TERM": "xterm"}))
    return shown


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that notes, when it is imported, what is on the screen."""
    (tmp_path / "slow_.py").write_text(
        "from lab.verbs import dispatch\nthen = dispatch.err.file.getvalue()\ndef work(*, word): said.append(word)\n"
        "said = []\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return "slow_"


def test_a_terminal_shows_that_a_verb_begins_before_it_is_imported(screen: io.StringIO, slow: str) -> None:
    @dispatch.done_by(slow)
    def work(*, word: str) -> None:
        """Declared alone."""

    work(word="done")
    module = import_module(slow)
    assert "starting lab slow" in module.then
    assert module.said == ["done"]
    assert screen.getvalue().endswith("\x1b[2K"), "the line is gone when the module is there"


def test_where_nobody_watches_nothing_but_the_answer_is_printed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], slow: str
) -> None:
    sys.modules.pop(slow, None)
    monkeypatch.setattr(dispatch, "err", Console(file=io.StringIO(), force_terminal=False))

    @dispatch.done_by(slow)
    def work(*, word: str) -> None:
        """Declared alone."""

    work(word="done")
    assert import_module(slow).then == ""
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, None])
def test_an_interrupt_that_a_module_makes_another_error_of_is_one_all_the_same(
    number: signal.Signals | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pydantic's core does, amid the making of a model."""
    interrupt = "" if number is None else f"signal.raise_signal({int(number)})"
    (tmp_path / "interrupted_.py").write_text(
        f"import signal\ntry:\n    {interrupt or 'raise KeyboardInterrupt'}\n"
        "except KeyboardInterrupt:\n    raise ValueError('in a core')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "interrupted_", raising=False)

    @dispatch.done_by("interrupted_")
    def work() -> None:
        """Declared alone."""

    before = signal.signal(signal.SIGTERM, lambda *_: None)  # as `lab` has one
    handlers = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    try:
        with pytest.raises(ValueError if number is None else KeyboardInterrupt):
            work()
        assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == handlers
    finally:
        signal.signal(signal.SIGTERM, before)
