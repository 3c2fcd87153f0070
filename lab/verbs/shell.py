"""`lab shell`: any command, or a shell, on a station behind a link."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.options import Kernel, Medium
from lab.verbs.dispatch import done_by


@done_by("lab.shell")
def shell(
    profile: Annotated[str, typer.Argument(help="Link profile (`lab profiles` lists them), or a path to a .yaml.")],
    command: Annotated[list[str] | None, typer.Argument(help="Command to run; default: your shell.")] = None,
    wired: Annotated[str, typer.Option(help="A command to run on the wired node meanwhile.")] = "",
    topology: Annotated[
        str, typer.Option(help="As a scenario's: KIND [KEY=VALUE ...], such as 'chain routers=3 link=wireline-10m'.")
    ] = "star",
    stations: Annotated[int, typer.Option(min=1, max=250, help="How many.")] = 1,
    group_frames: Annotated[
        bool, typer.Option("--group-frames", help="Broadcast and multicast take a shared air once; by the line only.")
    ] = False,
    on: Annotated[str, typer.Option(help="The node that COMMAND runs on; default: the first station.")] = "",
    kernel: Kernel = "auto",
    medium: Medium = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Decides which packets are lost.")] = 1,
    congestion_control: Annotated[str, typer.Option(help="TCP's, on every node.")] = "cubic",
    prove: Annotated[bool, typer.Option("--prove", help="First measure the link, and print what it delivers.")] = False,
) -> None:
    """Run COMMAND on a station behind PROFILE's medium, with a wired node on the other side, or in any topology.

    The wired node's address is in the environment variable WIRED, and every node's in one of its name, such as STA1,
    SERVER or R2; '$WIRED' in COMMAND (in quotes) is replaced by it.  Of several servers the first one is the wired
    node, and where there is none the last station.  The command `on NODE COMMAND` runs something on another node.
    The exit status is the command's.  In the lab kernel what is written outside the current folder is gone afterwards.

        lab shell lte --wired 'iperf3 -s' -- iperf3 -c '$WIRED'

        lab shell nistnet-80211 --topology 'chain routers=6 link=transcontinental-wire' -- ping -c 3 '$SERVER'
    """
