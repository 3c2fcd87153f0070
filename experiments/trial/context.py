"""A trial's context: what it was asked, and what all its steps share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from experiments import deploy
from experiments.scenario.settings import Settings
from experiments.trial.capturing import CapturePlan
from experiments.trial.observers.hostlog import HostLog
from experiments.trial.provenance import Provenance
from records.manifest import PlacedWorkload
from records.record import Record
from records.verdict import State
from stacks import registry
from stacks.driver import Service
from topologies.network import Network


class TrialSpec(Record):
    """Everything a trial needs to know; it travels as JSON, so that a trial can run in another process or kernel.

    beside: trials of the same campaign that run at the same time, as cell/trial.
    shared_machine: whether what others use of the machine is told, but not judged.  medium: what makes the link.
    links: profiles of the links of the topology, by the name that it gives them.
    """

    campaign_folder: str
    digest: str
    cell: str
    levels: dict[str, str]
    trial: int
    seed: int
    settings: Settings
    profile: LinkProfile
    provenance: Provenance
    notes: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    shared_machine: bool = False
    medium: MediumName = "tc"
    links: dict[str, LinkProfile] = Field(default_factory=dict)


class Phase(Record):
    """What a trial is doing, for whoever watches."""

    event: Literal["phase"] = "phase"
    name: str
    sent: int = 0
    delivered: int = 0


class Finished(Record):
    """A trial's last word: its folder is in place."""

    event: Literal["finished"] = "finished"
    state: State
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A service on one of the servers.  name: the service's, with the server's where there are several."""

    name: str
    folder: Path
    server: str
    service: str
    scratch: Path

    @property
    def pid(self) -> int:
        """Its process."""
        return deploy.service_pid(scratch=self.scratch, target=self.server, name=self.service)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialContext:
    """scratch: a folder inside the trial's that is gone when the trial is finished.  host: readings of the machine.

    link: the plan of the first segment, the medium that stations hang on.  further: those of the other segments with a
    profile, by name.
    """

    spec: TrialSpec
    folder: Path
    scratch: Path
    network: Network
    link: LinkPlan
    further: Mapping[str, LinkPlan]
    capture: CapturePlan
    services: tuple[Service, ...]
    workload: PlacedWorkload
    load_1m_before: float
    tell: Callable[[Phase], None]
    host: HostLog

    @property
    def settings(self) -> Settings:
        """What the scenario says of the trial's cell."""
        return self.spec.settings

    @property
    def profile(self) -> LinkProfile:
        """What the link was asked to be."""
        return self.spec.profile

    @property
    def running(self) -> tuple[Running, ...]:
        """Every service on every server."""
        servers = self.network.servers
        return tuple(
            Running(
                name=one.name if len(servers) == 1 else f"{one.name}@{server.name}",
                folder=deploy.service_folder(scratch=self.scratch, target=server.name, name=one.name),
                server=server.name,
                service=one.name,
                scratch=self.scratch,
            )
            for server in servers
            for one in self.services
        )

    @property
    def server_targets(self) -> tuple[deploy.Target, ...]:
        """The servers as Ansible sees them, each with the stack's services."""
        roles = tuple(deploy.role_call(service) for service in self.services)
        return tuple(
            deploy.Target(name=one.name, address=one.address, pid=one.pid, roles=roles) for one in self.network.servers
        )

    @property
    def plans(self) -> dict[str, LinkPlan]:
        """The plan of every segment, by name."""
        return {self.network.emulated[0].plan.name: self.link, **self.further}

    def client_folder(self, node: str) -> Path:
        """Where the client on a station writes its part of the ledger."""
        return deploy.service_folder(scratch=self.scratch, target=node, name="client")


def link_plan(
    profile: LinkProfile, settings: Settings, stations: Sequence[str], seed: int, medium: MediumName = "tc"
) -> LinkPlan:
    """What the profile does in this trial, made by that medium.

    What becomes of packets depends on the profile, the seed, the stations and the times only.
    """
    times = settings.window
    after_start = times.window_s + times.drain_s
    return linkplan.plan(
        profile,
        stations,
        seed=seed,
        seconds=times.warmup_s + after_start,
        timeline_s=after_start,
        made_by=medium,
    )


def services(settings: Settings) -> tuple[Service, ...]:
    """The stack's services, with what the scenario wants of them: faults, their memory, refusals when it is full."""
    words: dict[str, Any] = {}
    if settings.faults:
        words["faults"] = settings.fault_words()
    if settings.workload.when_full != "wait":
        words["when_full"] = settings.workload.when_full
    if settings.workload.memory_limit_mb is not None:
        words["memory_limit_mb"] = settings.workload.memory_limit_mb
    found = registry.get(settings.stack).services()
    return tuple(
        replace(one, variables={**one.variables, **{f"{one.role}_{name}": value for name, value in words.items()}})
        for one in found
    )
