"""A trial's fixed parts: what it was asked, and what stands ready for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from emulation import linkplan
from emulation.linkplan import LinkPlan
from emulation.media import MediumName
from emulation.profile import LinkProfile
from experiments import deploy
from experiments.capturing import CapturePlan
from experiments.hostlog import HostLog
from experiments.provenance import Provenance
from experiments.settings import Settings
from results.manifest import Record, Workload
from stacks import registry
from stacks.driver import Service
from topologies.network import Network, Node


class TrialSpec(Record):
    """Everything a trial needs to know; it travels as JSON, so that a trial can run in another process or kernel.

    beside: trials of the same campaign that run at the same time, as cell/trial.
    shared_machine: whether what others use of the machine is told, but not judged.  medium: what makes the link.
    """

    campaign_folder: str
    digest: str
    cell: str
    levels: dict[str, str]
    trial: int
    seed: int
    settings: dict[str, Any]
    profile: dict[str, Any]
    provenance: Provenance
    notes: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    shared_machine: bool = False
    medium: MediumName = "tc"


class Phase(Record):
    """What a trial is doing, for whoever watches."""

    event: Literal["phase"] = "phase"
    name: str
    sent: int = 0
    delivered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """scratch: a folder inside the trial's that is gone when the trial is finished.  host: readings of the machine."""

    spec: TrialSpec
    settings: Settings
    profile: LinkProfile
    folder: Path
    scratch: Path
    network: Network
    link: LinkPlan
    capture: CapturePlan
    services: tuple[Service, ...]
    workload: Workload
    load_1m_before: float
    tell: Callable[[Phase], None]
    host: HostLog

    @property
    def server(self) -> Node:
        """The node that runs the stack's services."""
        return self.network.servers[0]

    @property
    def server_target(self) -> deploy.Target:
        """The server as Ansible sees it, with the stack's services."""
        roles = tuple(deploy.role_call(service) for service in self.services)
        return deploy.Target(name=self.server.name, address=self.server.address, pid=self.server.pid, roles=roles)

    def client_folder(self, node: str) -> Path:
        """Where the client on a station writes its part of the ledger."""
        return deploy.service_folder(scratch=self.scratch, target=node, name="client")

    def service_folder(self, service: Service) -> Path:
        """Where a service keeps its files."""
        return deploy.service_folder(scratch=self.scratch, target=self.server.name, name=service.name)

    def service_pid(self, service: Service) -> int:
        """A service's process."""
        return deploy.service_pid(scratch=self.scratch, target=self.server.name, name=service.name)


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
