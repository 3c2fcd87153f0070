"""`lab`: run experiments over emulated links, and read what came of them."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable
from types import FrameType

import typer

from lab.verbs import (
    analyse,
    calibrate,
    compare,
    conform,
    doctor,
    export,
    list_,
    pack,
    paper,
    profiles,
    publish,
    reductions,
    replay,
    report,
    resume,
    run,
    shell,
    sql,
    stacks,
    unpack,
)

app = typer.Typer(
    name="lab",
    help=__doc__,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # boxes take as long to import as everything else that help needs (benchmarks/first_word.py)
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "Exit status: 0 every trial is valid; 1 something failed; 2 the command or the scenario is wrong; "
        "3 some trials are invalid or inconclusive, or a capture is damaged; "
        "4 the time of --for is up before all is done; 130 interrupted.  "
        "compare: 0 no worse; 1 worse; 3 cannot tell."
    ),
)
VERBS: dict[str, Callable[..., None]] = {
    "run": run.run,
    "resume": resume.resume,
    "report": report.report,
    "compare": compare.compare,
    "analyse": analyse.analyse,
    "export": export.export,
    "sql": sql.sql,
    "pack": pack.pack,
    "unpack": unpack.unpack,
    "publish": publish.publish,
    "list": list_.list_campaigns,
    "reductions": reductions.reductions,
    "paper": paper.paper,
    "replay": replay.replay,
    "shell": shell.shell,
    "profiles": profiles.profiles,
    "conform": conform.conform,
    "stacks": stacks.stacks,
    "calibrate": calibrate.calibrate,
    "doctor": doctor.doctor,
}
for _name, _verb in VERBS.items():
    app.command(_name, short_help=(_verb.__doc__ or "").partition("\n")[0])(_verb)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Entry point of the `lab` command."""
    # A polite kill tidies up like Ctrl-C does.  Under nohup the end of the terminal is to have no effect.
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _terminate)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a folder's name may be in no encoding
            stream.reconfigure(errors="backslashreplace")
    app()
