"""Running a trial again: the same link, the same fates of packets, and, if wanted, another stack under them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from emulation.line import layout
from emulation.plan.linkplan import takes_time
from emulation.plan.stages import Feature
from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from experiments.campaign import campaign as campaigns
from experiments.campaign import foreign
from experiments.campaign.campaign import SCENARIO_COPY, CampaignError
from experiments.campaign.prepare import links_of, place_of
from experiments.scenario import nodes
from experiments.scenario.scenario import cell_name
from experiments.scenario.segments import first_profile, further_plans, problems, topology_plan
from experiments.scenario.settings import Settings, from_campaign
from experiments.trial.context import link_plan
from experiments.workers.kernels import Kernels, NotPossible
from experiments.workers.place import Place
from records.campaign import Campaign, Cell, Planned, read_campaign
from records.store import Trial
from records.workload import Acknowledged, Command, PubSub
from stacks import registry
from stacks.driver import Subscription
from stacks.knobs import unsaid

_MADE_BY = {"line": "the line", "tc": "tc"}


def create(trial: Trial, root: Path, *, stack: str | None, kernels: Kernels) -> Path:
    """Make a campaign below `root` that consists of a trial run again, by its own medium, and return its folder.

    CampaignError when the trial's losses, or the fates of its packets, cannot be had again, or the other stack cannot
    do its workload.  NotPossible when its medium cannot be had here.
    """
    manifest, proof = trial.manifest(), trial.link()
    original = read_campaign(trial.path.parent.parent)
    foreign.check(trial.path.parent.parent, original)
    cell = next((one for one in original.cells if one.name == manifest.cell.name), None)
    if cell is None:
        raise CampaignError(f"{trial.path}: its campaign has no cell {manifest.cell.name!r}")
    try:
        settings = from_campaign(cell.settings["settings"])
        profile = LinkProfile.model_validate(manifest.profile)
    except (ValidationError, KeyError) as error:
        raise CampaignError(
            f"{trial.path}: made by another version, whose settings this one does not know "
            f"({str(error).splitlines()[0]})"
        ) from error
    medium = manifest.medium or "tc"
    settings = settings.model_copy(update={"medium": medium})
    place = _required(medium, trial, profile, settings, links_of(cell), kernels)
    stations = topology_plan(settings).emulated[0].stations
    plan = link_plan(first_profile(settings, profile), settings, stations, manifest.seed, medium)
    losses = {one.name or one.direction: one.sha256 for one in proof.loss_lists}
    fates = {one.name: one.sha256 for one in proof.fates}
    _same(trial, "losses", losses, {one.name: one.digest for one in plan.losses})
    timed = place.kernel == "lab" or not kernels.host_features[Feature.NETEM]
    plan = replace(plan, times_frames=timed)
    with_netem = f"replay it on a kernel {'without' if timed else 'with'} netem, as its trial had"
    if manifest.transmission_time not in (None, takes_time(plan)):
        raise NotPossible(
            f"{trial.path}: on its link a frame took {'no' if timed else 'its'} transmission time when that was idle, "
            f"and here it would be otherwise: {with_netem}"
        )
    further = further_plans(settings, profile, links_of(cell), plan)
    for other in proof.further:
        again = further.get(other.segment)
        if again is None:
            raise CampaignError(f"{trial.path}: it has a segment {other.segment!r}, which its topology has not")
        if other.made_by not in ("", again.made_by):
            raise NotPossible(
                f"{trial.path}: its segment {other.segment} was made by {_MADE_BY[other.made_by]}, and would be by "
                f"{_MADE_BY[again.made_by]} here: {with_netem}"
            )
        recorded = {one.name: one.sha256 for one in other.loss_lists}
        _same(trial, f"losses of segment {other.segment}", recorded, {one.name: one.digest for one in again.losses})
        if other.fates:
            drawn = {one.name: one.sha256 for one in other.fates}
            _same(trial, f"fates of packets of segment {other.segment}", drawn, layout.digests(again))
    if fates:  # a link made by queueing disciplines has none that could be had again
        _same(trial, "fates of packets", fates, layout.digests(plan))
    levels, of_it = dict(cell.levels), ""
    if stack is not None:
        set_before, settings = settings.knobs.get(stack, {}), _with_stack(settings, stack)
        levels["stack"] = stack
        own = settings.knobs.get(stack, {})
        if own != set_before:
            of_it = f", with {stack}'s own {', '.join(f'{name}: {value}' for name, value in own.items())}"
    replay_of = f"{trial.path.parent.parent.name}, {cell.name}, {trial.path.name}"
    replayed = Cell(
        name=cell_name(levels),
        levels=levels,
        settings=cell.settings
        | {"settings": settings.model_dump(mode="json"), "profile": profile.model_dump(mode="json")},
    )
    campaign = Campaign(
        scenario=original.scenario,
        question=f"{original.question} (replay of {replay_of}{of_it})",
        digest=_digest(replayed, manifest.seed),
        created=campaigns.now(),
        seed=manifest.seed,
        factors={},
        baseline=None,
        cells=(replayed,),
        order=(Planned(cell=replayed.name, trial=1, seed=manifest.seed),),
    )
    return campaigns.write(campaign, root, (trial.path.parent.parent / SCENARIO_COPY).read_bytes())


def _same(trial: Trial, what: str, recorded: Mapping[str, str], again: Mapping[str, str]) -> None:
    """CampaignError unless all digests are equal."""
    if again != recorded:
        manifest = trial.manifest()
        different = sorted(name for name in recorded.keys() | again.keys() if again.get(name) != recorded.get(name))
        raise CampaignError(
            f"{trial.path}: this version expands seed {manifest.seed} to other {what} ({', '.join(different)}); "
            f"replay it with revision {manifest.git.revision[:12]}"
        )


def _digest(cell: Cell, seed: int) -> str:
    return hashlib.sha256(json.dumps([cell.model_dump(mode="json"), seed], sort_keys=True).encode()).hexdigest()


def _required(  # noqa: PLR0917 - all that a place follows from
    medium: MediumName,
    trial: Trial,
    profile: LinkProfile,
    settings: Settings,
    links: Mapping[str, LinkProfile],
    kernels: Kernels,
) -> Place:
    """Where a trial's link can be made again; NotPossible when its medium cannot be had."""
    made = f"{trial.path}: its link was made by {_MADE_BY[medium]}, and a replay's is, too"
    if kernels.medium not in ("auto", medium):
        raise NotPossible(f"{made}: --medium {kernels.medium} would give packets other fates; leave it out")
    try:
        return place_of(settings, profile, links, kernels)
    except NotPossible as error:
        raise NotPossible(f"{made}: {error}") from error


def _with_stack(settings: Settings, stack: str) -> Settings:
    try:
        work = settings.workload
        if isinstance(work, Command):
            raise CampaignError("--stack: the trial's load is programs, which no stack carries: leave it out")
        driver = registry.get(stack, settings.knobs.get(stack, {}))
        registry.require(driver, patterns={work.pattern}, guarantees=work.guarantees())
        if isinstance(work, Acknowledged):
            name = "any" if isinstance(work, PubSub) and work.durable else None
            if why := driver.why_not(Subscription(name=name, prefetch=work.prefetch)):
                raise CampaignError(f"--stack: {why}")
    except (registry.UnknownStackError, registry.StackLacksError) as error:
        raise CampaignError(f"--stack: {error}") from error
    said = settings.knobs.get(stack, {})
    kind = registry.knobs_of(stack)
    missing = {name: kind.model_fields[name].default for name in unsaid(kind, said)} if kind else {}
    knobs = settings.knobs | ({stack: {**said, **missing}} if missing else {})
    other = Settings.model_validate(settings.model_dump() | {"stack": stack, "faults": {}, "knobs": knobs})
    told = [f"{key}: {problem}" for key, problem in problems(other)]
    if told := told + [f"{'.'.join(map(str, at))}: {problem}" for at, problem in nodes.problems(other)]:
        raise CampaignError(f"--stack: {'; '.join(told)}")
    return other
