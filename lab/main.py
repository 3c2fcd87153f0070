"""`lab`: run experiments over emulated links, and read what came of them."""

from __future__ import annotations

import signal
from types import FrameType

import typer

from lab import (
    analyse,
    calibrate,
    compare,
    doctor,
    export,
    list_,
    pack,
    paper,
    profiles,
    replay,
    report,
    resume,
    run,
    shell,
    unpack,
)

app = typer.Typer(
    name="lab",
    help=__doc__,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "Exit status: 0 every trial is valid; 1 something failed; 2 the command or the scenario is wrong; "
        "3 some trials are invalid or inconclusive, or a capture is damaged; "
        "4 the time of --for is up before all is done; 130 interrupted.  "
        "compare: 0 no worse; 1 worse; 3 cannot tell."
    ),
)
app.command("run")(run.run)
app.command("resume")(resume.resume)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("analyse")(analyse.analyse)
app.command("export")(export.export)
app.command("pack")(pack.pack)
app.command("unpack")(unpack.unpack)
app.command("list")(list_.list_campaigns)
app.command("paper")(paper.paper)
app.command("replay")(replay.replay)
app.command("shell")(shell.shell)
app.command("profiles")(profiles.profiles)
app.command("calibrate")(calibrate.calibrate)
app.command("doctor")(doctor.doctor)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Entry point of the `lab` command."""
    # A polite kill tidies up like Ctrl-C does.
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGHUP, _terminate)
    app()
