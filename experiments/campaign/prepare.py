"""What a campaign needs before its first trial: a kernel and a medium for every cell, servers, allowed controls."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from pydantic import ValidationError

from emulation.kernel import congestion, memo
from emulation.kernel.quota import usable_cores
from emulation.line import ceiling
from emulation.line.ceiling import Load
from emulation.plan.stages import Feature
from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from experiments import deploy
from experiments.campaign.campaign import CampaignError
from experiments.scenario.segments import carried, left_to_tc, topology_plan, wanted_medium
from experiments.scenario.settings import Settings, from_campaign
from experiments.trial.context import services
from experiments.workers.kernels import Kernels, NotPossible
from experiments.workers.place import Place
from experiments.workers.programs import missing
from records.campaign import Campaign, Cell
from records.scratch import scratch
from stacks.folders import role_folders

_TOPIC = "installed"
_REMEMBERED = 32
_PACKAGES = Path("/var/lib/dpkg/status")


def settings_of(cell: Cell) -> Settings:
    """A planned cell's settings."""
    return from_campaign(cell.settings["settings"])


def profile_of(cell: Cell) -> LinkProfile:
    """A planned cell's link."""
    return LinkProfile.model_validate(cell.settings["profile"])


def links_of(cell: Cell) -> dict[str, LinkProfile]:
    """The profiles of the links of a planned cell's topology, by name."""
    return {name: LinkProfile.model_validate(one) for name, one in cell.settings.get("links", {}).items()}


def choose(campaign: Campaign, folder: Path, kernels: Kernels) -> dict[str, Place]:
    """The kernel and medium of every cell; CampaignError when another version of this program wrote the campaign."""
    try:
        cells = {cell.name: (settings_of(cell), profile_of(cell), links_of(cell)) for cell in campaign.cells}
    except (ValidationError, KeyError, TypeError, AttributeError) as error:
        raise CampaignError(
            f"{folder}: this campaign was made by another version, whose settings this one does not know; "
            f"run the scenario anew with --new ({str(error).splitlines()[0]})"
        ) from error
    return {name: place_of(settings, profile, links, kernels) for name, (settings, profile, links) in cells.items()}


def place_of(settings: Settings, profile: LinkProfile, links: Mapping[str, LinkProfile], kernels: Kernels) -> Place:
    """The kernel and medium of a cell; NotPossible (of experiments.workers.kernels) says why there is none.

    links: those of the topology, which have to be possible on that kernel, by any medium or the one that the command
    line insists on.
    """
    if why := missing(settings.workload) or _too_many_cores(settings):
        raise NotPossible(why)
    medium, *others = topology_plan(settings).emulated
    told = bool(others) or settings.group_frames or not medium.wired

    def by_line(first: MediumName) -> tuple[Load, ...]:
        has_netem = not kernels.host_features[Feature.NETEM]
        return tuple(carried(settings, profile, links, first=first, has_netem=has_netem).values()) if told else ()

    place = kernels.choose(
        profile,
        stations=settings.stations,
        medium=wanted_medium(settings),
        kernel=settings.kernel,
        carried=by_line("line"),
    )
    if settings.station_cores and place.kernel == "lab":
        raise NotPossible("station_cores: the lab kernel gives no shares of a processor; run it on this machine's own")
    for link in links.values():
        kernels.choose(link, stations=1, kernel=place.kernel)
    if kernels.medium == "line" and (why := left_to_tc(settings, profile, links)):
        raise NotPossible(f"profile {profile.name!r}: --medium line: {why}")
    if place == Place("host", "tc") and (why := ceiling.why_not(*by_line("tc"))):
        raise NotPossible(f"profile {profile.name!r}: {why}")
    return place


def _too_many_cores(settings: Settings) -> str:
    """Why stations cannot have the shares of processors that they are to have, '' when they can."""
    wanted, there = settings.stations * (settings.station_cores or 0.0), usable_cores()
    if wanted <= there:
        return ""
    return (
        f"station_cores: {settings.stations} stations of {settings.station_cores:g} cores are {wanted:g}, and this "
        f"machine has {there}: at most {there / settings.stations:.3g} each"
    )


@contextmanager
def prepared(campaign: Campaign, chosen: dict[str, Place]) -> Iterator[None]:
    """What trials need of this machine: servers and clients installed, congestion controls allowed.

    Only root can see to that; an ordinary user's trials find what is installed, in the lab kernel.
    """
    if os.geteuid():
        yield
        return
    install(campaign)
    on_host = {settings_of(cell).congestion_control for cell in campaign.cells if chosen[cell.name].kernel == "host"}
    with congestion.allowed(on_host) if on_host else nullcontext():
        yield


def install(campaign: Campaign) -> None:
    """Let Ansible see to it that servers and clients are installed; DeployError when they cannot be.

    What it has seen to is remembered, for a few dozen roles and their variables, until something changes that it would
    look at.
    """
    calls = {call.role: call for cell in campaign.cells for call in map(deploy.role_call, services(settings_of(cell)))}
    roles = (*calls.values(), deploy.RoleCall(role="client"))
    seen = memo.recall(_TOPIC) or {}
    if _looked_at(roles).keys() <= seen.keys():
        return
    target = deploy.Target(name="this-machine", address="127.0.0.1", pid=os.getpid(), roles=roles)
    with scratch("install") as folder:
        deploy.apply(["install"], [target], scratch=folder, timeout_s=deploy.INSTALL_LIMIT_S)
    memo.keep(_TOPIC, dict([*(seen | _looked_at(roles)).items()][-_REMEMBERED:]))


def _looked_at(roles: Iterable[deploy.RoleCall]) -> dict[str, str]:
    """Digest of what a role's installation looks at (playbooks, Debian's packages, class archives, Python) to role."""
    files = [_PACKAGES, Path(sys.executable), *sorted(deploy.CACHE.glob("*.jsa"))]
    ansible = (deploy.PLAYBOOKS, *role_folders())
    common = [*map(memo.digest, ansible), *(memo.stamp(path) for path in files if path.exists())]
    texts = {json.dumps([*common, call.role, dict(call.variables)], default=str): call.role for call in roles}
    return {hashlib.sha256(text.encode()).hexdigest(): role for text, role in texts.items()}
