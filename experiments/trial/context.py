"""A trial's context: what it was asked, and what all its steps share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from emulation.line.serving import LineProcess
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from experiments import deploy
from experiments.scenario import placement
from experiments.scenario.segments import topology_plan
from experiments.scenario.settings import Settings
from experiments.trial.capturing import CapturePlan
from experiments.trial.observers.hostlog import HostLog
from experiments.trial.others import Others
from experiments.trial.plan import peers
from experiments.trial.provenance import Provenance
from records.manifest import PlacedWorkload
from records.record import Record
from records.verdict import State
from records.workload import Command
from stacks.driver import Service
from topologies.network import Network, Node


class TrialSpec(Record):
    """Everything a trial needs to know; it travels as JSON, so that a trial can run in another process or kernel.

    beside: trials of the same campaign that run at the same time, as cell/trial.
    shared_machine: whether what others use of the machine is told, but not judged.  medium: what makes the link.
    links: profiles of the links of the topology, by the name that it gives them.
    cpu_groups: folder of the trial's control groups (cpugroups.py), '' where stations share all processors.
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
    cpu_groups: str = ""


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
    """A service on one node.  name: the service's, with the node's where it is on several."""

    name: str
    folder: Path
    node: str
    service: str
    scratch: Path

    @property
    def pid(self) -> int:
        """Its process."""
        return deploy.service_pid(scratch=self.scratch, target=self.node, name=self.service)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialContext:
    """scratch: a folder inside the trial's that is gone when the trial is finished.  host: readings of the machine.

    others: the trials beside it, whom it waits for before it loads its link; None where it waits for nobody.

    link: the plan of the first segment, the medium that stations hang on.  further: those of the other segments with a
    profile, by name.  line: the process that carries those of them that the line makes.

    authority: the certificate (PEM) by which clients know the servers, '' where nothing speaks TLS.
    """

    spec: TrialSpec
    folder: Path
    scratch: Path
    network: Network
    link: LinkPlan
    further: Mapping[str, LinkPlan]
    line: LineProcess
    capture: CapturePlan
    services: tuple[Service, ...]
    workload: PlacedWorkload
    load_1m_before: float
    tell: Callable[[Phase], None]
    host: HostLog
    others: Others | None
    authority: str = ""

    @property
    def settings(self) -> Settings:
        """What the scenario says of the trial's cell."""
        return self.spec.settings

    @property
    def profile(self) -> LinkProfile:
        """What the link was asked to be."""
        return self.spec.profile

    @property
    def placed(self) -> tuple[tuple[Node, Service], ...]:
        """Every service with each node that it runs on, in the order in which channels are at home there."""
        nodes = {node.name: node for node in self.network.nodes}
        return tuple((nodes[host], one) for host, one in placement.placed(self.network.plan, self.services))

    @property
    def ways(self) -> tuple[tuple[str, str], ...]:
        """A station and a host with a service, for every two that clients' packets can go between, there and back."""
        return placement.ways(self.settings, self.network.plan)

    @property
    def listeners(self) -> tuple[tuple[str, int], ...]:
        """Address and port of all that clients connect to: services, or each other."""
        addresses = {node.name: node.address for node in self.network.nodes}
        clients = ((one.address, one.port) for one in peers(self.settings, self.workload, addresses))
        return (*((node.address, one.port) for node, one in self.placed), *clients)

    @property
    def peer_ways(self) -> tuple[tuple[str, str], ...]:
        """Stations that packets go between, from the first to the second; none where the load is for servers.

        Where nothing sends over a medium without a wired side these are any two: it is proven all the same.
        """
        stations = self.network.plan.of_role("station")
        if placement.between_stations(self.settings):
            return tuple(dict.fromkeys(way for one, other in self.ways for way in ((one, other), (other, one))))
        return () if self.network.emulated[0].plan.wired else tuple(permutations(stations, 2))

    @property
    def running(self) -> tuple[Running, ...]:
        """Every service on every node that has it."""
        placed = self.placed
        several = Counter(one.name for _, one in placed)
        return tuple(
            Running(
                name=one.name if several[one.name] == 1 else f"{one.name}@{node.name}",
                folder=deploy.service_folder(scratch=self.scratch, target=node.name, name=one.name),
                node=node.name,
                service=one.name,
                scratch=self.scratch,
            )
            for node, one in placed
        )

    @property
    def targets(self) -> tuple[deploy.Target, ...]:
        """The nodes with services as Ansible sees them."""
        roles: dict[str, list[deploy.RoleCall]] = {}
        for node, one in self.placed:
            roles.setdefault(node.name, []).append(deploy.role_call(one))
        return tuple(
            deploy.Target(name=one.name, address=one.address, pid=one.pid, roles=tuple(roles[one.name]))
            for one in self.network.nodes
            if one.name in roles
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
        via=topology_plan(settings).emulated[0].via,
        group_frames=settings.group_frames,
    )


def services(settings: Settings) -> tuple[Service, ...]:
    """The stack's services, with what the scenario wants of them: faults, their memory, refusals when it is full; where
    packets are captured, stamps of those that have them.

    None for a load that is programs.
    """
    work, words = settings.workload, dict[str, Any]()
    if isinstance(work, Command):
        return ()
    if settings.faults:
        words["faults"] = settings.fault_words()
    if work.when_full != "wait":
        words["when_full"] = work.when_full
    if work.memory_limit_mb is not None:
        words["memory_limit_mb"] = work.memory_limit_mb
    found = settings.driver().services()
    return tuple(_asked(one, words, stamps=one.stamps and settings.capture.enabled) for one in found)


def _asked(service: Service, words: dict[str, Any], *, stamps: bool) -> Service:
    wanted = words | ({"stamps": True} if stamps else {})
    named = {f"{service.role}_{name}": value for name, value in wanted.items()}
    return replace(service, stamps=stamps, variables={**service.variables, **named})
