"""A trial's fixed parts: what it was asked, and what stands ready for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from emulation import loss
from emulation.loss import SeededLosses
from emulation.profile import LinkProfile
from experiments import deploy
from experiments.provenance import Provenance
from experiments.settings import Settings
from results.manifest import Record, Workload
from stacks import registry
from stacks.driver import Service
from topologies.network import Network, Node


class TrialSpec(Record):
    """Everything a trial needs to know; it travels as JSON, so that a trial can run in another process or kernel."""

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


class Phase(Record):
    """What a trial is doing, for whoever watches."""

    event: Literal["phase"] = "phase"
    name: str
    sent: int = 0
    delivered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """scratch: a folder inside the trial's that is gone when the trial is finished."""

    spec: TrialSpec
    settings: Settings
    profile: LinkProfile
    folder: Path
    scratch: Path
    network: Network
    losses: tuple[SeededLosses, ...]
    services: tuple[Service, ...]
    workload: Workload
    load_1m_before: float
    tell: Callable[[Phase], None]

    @property
    def server(self) -> Node:
        """The node that runs the stack's services."""
        return self.network.servers[0]

    def target(self, node: Node) -> deploy.Target:
        """A node as Ansible sees it: the stack's services on the server, a client on every station."""
        roles = {
            "server": tuple(deploy.role_call(service) for service in self.services),
            "station": (deploy.RoleCall(role="client"),),
        }
        return deploy.Target(name=node.name, address=node.address, pid=node.pid, roles=roles[node.role])

    def client_folder(self, node: str) -> Path:
        """Where the client on a station writes its part of the ledger."""
        return deploy.service_folder(scratch=self.scratch, target=node, name="client")

    def service_folder(self, service: Service) -> Path:
        """Where a service keeps its files."""
        return deploy.service_folder(scratch=self.scratch, target=self.server.name, name=service.name)

    def service_pid(self, service: Service) -> int:
        """A service's process."""
        return deploy.service_pid(scratch=self.scratch, target=self.server.name, name=service.name)


def seeded_losses(profile: LinkProfile, settings: Settings, seed: int) -> tuple[SeededLosses, ...]:
    """The trial's loss lists, uplink and downlink; they depend on the profile, the seed and the length only."""
    times = settings.window
    seconds = times.warmup_s + times.window_s + times.drain_s
    found = []
    for direction in loss.DIRECTIONS:
        side = getattr(profile, direction)
        modulus = loss.modulus_for(rate=side.rate, seconds=seconds)
        found.append(loss.expand(share=side.loss, seed=seed, direction=direction, modulus=modulus))
    return tuple(found)


def services(settings: Settings) -> tuple[Service, ...]:
    """The stack's services; the reference stack's with the scenario's faults switched on."""
    found = registry.get(settings.stack).services()
    if not settings.faults:
        return found
    words = {f"{one.role}_faults": settings.fault_words() for one in found}
    return tuple(replace(one, variables={**one.variables, **words}) for one in found)
