"""`lab profiles`: the link profiles there are, what each needs, and where it can be run."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from emulation.line import ceiling
from emulation.plan.stages import Feature, needed
from emulation.profile import library
from emulation.profile.direction import DirectionProfile
from emulation.profile.profile import LinkProfile
from experiments.tools.calibration import stations_needed
from experiments.workers.kernels import Kernels, NotPossible
from experiments.workers.place import Place
from lab.common import DEFAULT_RESULTS, err, out, told
from lab.start import tidy


def profiles() -> None:
    """Print the table of link profiles."""
    with told():
        tidy(DEFAULT_RESULTS)
        kernels = Kernels()
        out.print(table(kernels))
        if not all(chosen(kernels, library.load(name)) for name in library.names()) and kernels.no_lab:
            err.print(kernels.no_lab)


def table(kernels: Kernels) -> Table:
    """A row for every profile of the library."""
    rows = Table(box=None, pad_edge=False)
    for heading in ("profile", "medium", "up", "down", "delay", "loss", "tc needs", "runs on", "link by", "what it is"):
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
            by(kernels, profile),
            profile.description,
        )
    return rows


def needs(profile: LinkProfile) -> set[str]:
    """What tc needs of it that not every kernel with an access point has."""
    return {str(feature) for feature in needed(profile) if feature in (Feature.NETEM, Feature.HTB)}


def chosen(kernels: Kernels, profile: LinkProfile) -> Place | None:
    """The kernel and medium that `auto` takes for a profile and few stations, None when there are none."""
    try:
        return kernels.choose(profile, stations=stations_needed(profile))
    except NotPossible:
        return None


def where(kernels: Kernels, profile: LinkProfile) -> Text:
    """The kernel that `auto` takes for a profile, or that there is none."""
    place = chosen(kernels, profile)
    if place is None:
        return Text("nowhere here", style="red")
    return Text(place.kernel, style="green" if place.kernel == "host" else "yellow")


def by(kernels: Kernels, profile: LinkProfile) -> str:
    """What makes the profile's link there, and for how many stations where that is not for all."""
    place = chosen(kernels, profile)
    if place is None:
        return "-"
    most = ceiling.most_stations(profile) if place.medium == "line" else ceiling.MOST_STATIONS
    few = f", {most} station{'s' * (most != 1)} at most" if most < ceiling.MOST_STATIONS else ""
    return f"{place.medium}{few}"


def _rate(side: DirectionProfile) -> str:
    return "-" if side.rate is None else f"{side.rate / 1e6:g} M"


def _both(up: str, down: str) -> str:
    return up if up == down else f"{up} / {down}"
