"""`lab profiles`: the link profiles there are, what each needs, and where it can be run."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from emulation import library
from emulation.direction import DirectionProfile
from emulation.profile import LinkProfile
from emulation.stages import Feature, needed
from experiments.kernels import Kernels, NotPossible
from lab.common import DEFAULT_RESULTS, out, tidy, told


def profiles() -> None:
    """List the link profiles with what they do, what they need of a kernel, and where this machine can run them."""
    with told():
        tidy(DEFAULT_RESULTS)
        out.print(table(Kernels()))


def table(kernels: Kernels) -> Table:
    """A row for every profile of the library."""
    rows = Table(box=None, pad_edge=False)
    for heading in ("profile", "medium", "up", "down", "delay", "loss", "needs", "runs on", "what it is"):
        rows.add_column(heading, overflow="fold")
    for name in library.names():
        profile = library.load(name)
        up, down = profile.uplink, profile.downlink
        rows.add_row(
            name,
            profile.medium,
            _rate(up),
            _rate(down),
            _both(f"{up.delay * 1e3:g} ms", f"{down.delay * 1e3:g} ms"),
            _both(f"{up.loss_share * 100:.2g} %", f"{down.loss_share * 100:.2g} %"),
            ", ".join(sorted(needs(profile))) or "-",
            where(kernels, profile),
            profile.description,
        )
    return rows


def needs(profile: LinkProfile) -> set[str]:
    """What not every kernel with an access point has."""
    return {str(feature) for feature in needed(profile) if feature in (Feature.NETEM, Feature.HTB)}


def where(kernels: Kernels, profile: LinkProfile) -> Text:
    """The kernel that `auto` takes for a profile, or that there is none."""
    try:
        chosen = kernels.choose(profile)
    except NotPossible:
        return Text("nowhere here", style="red")
    return Text(chosen, style="green" if chosen == "host" else "yellow")


def _rate(side: DirectionProfile) -> str:
    return "-" if side.rate is None else f"{side.rate / 1e6:g} M"


def _both(up: str, down: str) -> str:
    return up if up == down else f"{up} / {down}"
