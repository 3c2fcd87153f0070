"""`lab profiles`: the link profiles there are, what each needs, and where it can be run."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from emulation import library
from emulation.direction import DirectionProfile
from emulation.kernel import KernelName
from emulation.profile import LinkProfile
from emulation.stages import Feature, needed
from experiments.kernels import Kernels, NotPossible
from lab.common import DEFAULT_RESULTS, err, out, tidy, told


def profiles() -> None:
    """List the link profiles with what they do, what they need of a kernel, and where this machine can run them."""
    with told():
        tidy(DEFAULT_RESULTS)
        kernels = Kernels()
        out.print(table(kernels))
        if not all(chosen(kernels, library.load(name)) for name in library.names()) and kernels.no_lab:
            err.print(kernels.no_lab, markup=False)


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


def chosen(kernels: Kernels, profile: LinkProfile) -> KernelName | None:
    """The kernel that `auto` takes for a profile, None when there is none."""
    try:
        return kernels.choose(profile)
    except NotPossible:
        return None


def where(kernels: Kernels, profile: LinkProfile) -> Text:
    """The kernel that `auto` takes for a profile, or that there is none."""
    name = chosen(kernels, profile)
    return Text(name or "nowhere here", style={"host": "green", "lab": "yellow"}.get(name or "", "red"))


def _rate(side: DirectionProfile) -> str:
    return "-" if side.rate is None else f"{side.rate / 1e6:g} M"


def _both(up: str, down: str) -> str:
    return up if up == down else f"{up} / {down}"
