"""One run: a publisher and a subscriber on two stations of a star, Mosquitto on its server, a wire between them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psutil

from emulation.link import features, link
from emulation.plan import linkplan
from emulation.profile import library
from experiments.deploy import Target, apply, role_call, service_pid
from mqtt_bench.costs import Cost, cost
from mqtt_bench.libraries import Plan
from mqtt_bench.process import Client, Look, Pace, started
from stacks.mosquitto.driver import PORT, Mosquitto, MosquittoKnobs
from topologies.network import Network, Node
from topologies.star import star

PROFILE = "wireline-1g"
CONGESTION_CONTROL = "cubic"
_DEPLOY_LIMIT_S = 300
_QUEUE = 1_000_000  # more than are sent in a run: what a slow subscriber has not read is kept, not dropped
_WARM_S = 0.7
_runs = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How fast it went.  broker: without messages.  machine: all cores, with what the kernel does for nobody."""

    publisher: Pace
    subscriber: Pace
    broker: Pace
    machine: Pace

    def cpu_s(self, name: str) -> float:
        """Processor time that one of them takes for 100,000 messages: of the publisher, that were sent; else, that
        arrived."""
        pace: Pace = getattr(self, name)
        return pace.share / (pace.messages or self.subscriber.messages) * 1e5


@dataclass(frozen=True, slots=True, kw_only=True)
class Laboratory:
    """A network with a broker.  program: what runs a client's process, with --client.  version: of MQTT."""

    network: Network
    broker: psutil.Process
    program: str
    window: int
    version: str
    body_bytes: int

    def run(self, name: str, *, qos: int, seconds: float) -> Run:
        """A publisher and a subscriber of one library, for so long."""
        with self._under_way(name, qos) as (publisher, subscriber):

            def looks() -> tuple[Look, ...]:
                return publisher.look(), subscriber.look(), _used(self.broker), _all_used()

            before = looks()
            time.sleep(seconds)
            paces = [then.since(now) for now, then in zip(before, looks(), strict=True)]
        if not (paces[0].messages and paces[1].messages):
            raise RuntimeError(f"{name}, QoS {qos}: nothing was sent or nothing arrived in {seconds:g} s; take longer")
        return Run(publisher=paces[0], subscriber=paces[1], broker=paces[2], machine=paces[3])

    def costs(self, name: str, *, qos: int, seconds: float) -> dict[str, Cost]:
        """Where the time of each process goes, for a library."""
        with self._under_way(name, qos) as (publisher, subscriber):
            arrived = lambda: subscriber.look().messages  # noqa: E731
            return {
                "publisher": cost(psutil.Process(publisher.pid), lambda: publisher.look().messages, seconds),
                "subscriber": cost(psutil.Process(subscriber.pid), arrived, seconds),
                "broker": cost(self.broker, arrived, seconds),
            }

    @contextmanager
    def _under_way(self, name: str, qos: int) -> Iterator[tuple[Client, Client]]:
        topic, (first, second, *_) = f"t{next(_runs)}", self.network.stations
        with (
            started(self._plan(name, "subscriber", topic, qos, first), first.pid, self.program) as subscriber,
            started(self._plan(name, "publisher", topic, qos, second), second.pid, self.program) as publisher,
        ):
            publisher.go()
            time.sleep(_WARM_S)
            yield publisher, subscriber

    def _plan(self, name: str, role: str, topic: str, qos: int, on: Node) -> Plan:
        return Plan(library=name, role=role, address=on.address, host=self.network.servers[0].address, port=PORT,
                    topic=topic, qos=qos, window=self.window, version=self.version,
                    body_bytes=self.body_bytes)  # fmt: skip


def _used(process: psutil.Process) -> Look:
    used = process.cpu_times()
    return Look(at_s=time.monotonic(), cpu_s=used.user + used.system)


def _all_used() -> Look:
    used = psutil.cpu_times()
    return Look(at_s=time.monotonic(), cpu_s=sum(used) - used.idle - used.iowait - used.guest - used.guest_nice)


@contextmanager
def laboratory(scratch: Path, *, program: str, window: int, version: str, body_bytes: int) -> Iterator[Laboratory]:
    """Build the network, put its link in force, deploy the broker.  scratch: takes the broker's files."""
    knobs = MosquittoKnobs.model_validate({"server_window": window, "server_queue": _QUEUE, "version": version})
    (service,) = Mosquitto(knobs).services()
    with star(stations=2, congestion_control=CONGESTION_CONTROL) as network:
        names, (server,) = [node.name for node in network.stations], network.servers
        plan = linkplan.plan(
            library.load(PROFILE), names, seed=1, seconds=1, timeline_s=0, times_frames=features.times_frames()
        )
        target = Target(name=server.name, address=server.address, pid=server.pid, roles=(role_call(service),))
        with link.applied(plan, network.ports):
            apply(["install", "configure", "start"], [target], scratch=scratch, timeout_s=_DEPLOY_LIMIT_S)
            try:
                pid = service_pid(scratch=scratch, target=server.name, name=service.name)
                yield Laboratory(network=network, broker=psutil.Process(pid), program=program, window=window,
                                 version=version, body_bytes=body_bytes)  # fmt: skip
            finally:
                apply(["stop"], [target], scratch=scratch, timeout_s=_DEPLOY_LIMIT_S)
