"""Whole campaign folders with known contents, written through the results store."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from pcap_files import ACK, SERVER, STATION, Segment, segments_pcap

from records import campaign as records
from records.clients import PubSubClients
from records.filenames import LINK, MANIFEST, VERDICT
from records.link import Counters, LinkCheck, LinkEvent, LinkProof, LossCounters, LossList, QueueCounters
from records.manifest import (
    Capture,
    Cell,
    Consumer,
    Git,
    Kernel,
    Machine,
    Manifest,
    Node,
    PlacedWorkload,
    Producer,
    Window,
)
from records.schema import DELIVERED, PUBLISHED, RESOURCES, Outcome
from records.store import Trial, TrialWriter, write_record, write_table
from records.verdict import Check, Health, HealthCheck, Limiter, Use, Verdict
from records.workload import PubSub

SECOND = 1_000_000_000
GO, START, END, DRAINED = (1000 * SECOND, 1001 * SECOND, 1009 * SECOND, 1010 * SECOND)
OFFSET = 1_700_000_000 * SECOND
WINDOW = Window(go_ns=GO, start_ns=START, end_ns=END, drained_ns=DRAINED, started_at="2023-11-14T22:30:01Z")
NETWORKS = {"wireline-100m": (100e6, "duplex"), "nistnet-80211": (1e6, "shared")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One trial's traffic: a message each 1/rate seconds from go on; each arrives `latency` seconds later.

    lose: sequence numbers that no consumer gets.  stretch: latencies cycle through base × these factors.
    rise: how much the rate grows from go to the drain's end, as a share of its mean.
    """

    rate: float = 20.0
    latency: float = 0.1
    stretch: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0)
    ack_after: float = 0.05
    body_bytes: int = 100
    consumers: int = 2
    lose: frozenset[int] = frozenset()
    rise: float = 0.0


def tables(load: Load) -> dict[str, pa.Table]:
    count = int(load.rate * (DRAINED - GO) / SECOND * 0.9)
    seq = np.arange(count, dtype=np.int64)
    sched = GO + (_rising(seq / load.rate, load.rise) * SECOND).astype(np.int64)
    published = {
        "producer": np.ones(count, np.int32),
        "seq": seq,
        "topic": np.zeros(count, np.int32),
        "body_bytes": np.full(count, load.body_bytes, np.int32),
        "property": pa.nulls(count, pa.int32()),
        "t_sched_ns": sched,
        "t_send_ns": sched,
        "t_ack_ns": sched + int(load.ack_after * SECOND),
        "outcome": np.full(count, int(Outcome.ACKED), np.int8),
        "t_given_up_ns": pa.nulls(count, pa.int64()),
    }
    kept = ~np.isin(seq, list(load.lose))
    factor = np.array(load.stretch)[seq % len(load.stretch)]
    t_recv = (sched + load.latency * factor * SECOND)[kept].astype(np.int64)
    order = np.argsort(t_recv, kind="stable")
    parts = [
        pa.table(
            {
                "consumer": np.full(len(order), 10 + number, np.int32),
                "producer": np.ones(len(order), np.int32),
                "seq": seq[kept][order],
                "t_recv_ns": t_recv[order],
                "arrival": np.arange(len(order), dtype=np.int64),
                "redelivered": np.zeros(len(order), bool),
            },
            schema=DELIVERED,
        )
        for number in range(load.consumers)
    ]
    return {
        "published": pa.table(published, schema=PUBLISHED),
        "delivered": pa.concat_tables(parts) if parts else DELIVERED.empty_table(),
    }


def _rising(evenly_s: np.ndarray, rise: float) -> np.ndarray:
    span = (DRAINED - GO) / SECOND
    at = np.linspace(0, span, 2001)
    sent = at * (1 - rise / 2) + rise * at**2 / (2 * span)
    return np.interp(evenly_s, sent, at)


Rates = tuple[tuple[float, float], ...]  # (seconds after the window's start, bit/s from then on)


def resources(*, queues: dict[str, float], rates: dict[str, Rates] | None = None) -> pa.Table:
    """queues: name to bytes sent per second, steadily; sampled four times a second, 500 bytes waiting."""
    rows = [
        (START + int(at_s * SECOND), f"queue:{queue}", "rate_bit_per_s", rate)
        for queue, steps in (rates or {}).items() for at_s, rate in steps
    ]  # fmt: skip
    for queue, speed in queues.items():
        for t_ns in range(GO, DRAINED + 1, SECOND // 4):
            rows.append((t_ns, f"queue:{queue}", "sent_bytes", speed * (t_ns - GO) / SECOND))
            rows.append((t_ns, f"queue:{queue}", "backlog_bytes", 500.0))
    columns = list(zip(*rows, strict=True)) if rows else [[], [], [], []]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, RESOURCES, strict=True)], schema=RESOURCES)


def conversation(*, packets: int = 40, rtt_ns: int = 10_000_000, payload: int = 100) -> list[Segment]:
    """An uplink conversation inside the window: data, each acknowledged after rtt_ns; number 10 is sent twice."""
    gap = (END - START) // (packets + 1)
    data = Segment(t_ns=0, src=STATION, dst=SERVER, payload=payload)
    found = []
    for number in range(packets):
        at = OFFSET + START + 1000 + number * gap
        segment = Segment(t_ns=at, seq=number * payload, payload=payload)
        answer = data.back(t_ns=at + rtt_ns, seq=0, ack=(number + 1) * payload, window=1000 + number)
        found.append(segment)
        if number == 10:
            found.append(Segment(t_ns=at + rtt_ns // 2, seq=segment.seq, payload=payload, flags=ACK))
        found.append(answer)
    return sorted(found, key=lambda one: one.t_ns)


def verdict(state: str = "valid") -> Verdict:
    """One that is not valid is of a version that did not record what limited a trial."""
    bad = {"valid": Health.PASSED, "invalid": Health.FAILED, "inconclusive": Health.UNKNOWN}[state]
    return Verdict(
        checks=tuple(
            HealthCheck(
                check=check,
                health=bad if check is Check.LINK_RATE else Health.PASSED,
                measured=0.5,
                limit=0.02,
                unit="share",
                detail="delivered 0.50 Mbit/s of 1.00 Mbit/s" if check is Check.LINK_RATE else "within its limit",
            )
            for check in Check
        ),
        limited_by=Limiter.LINK if state == "valid" else None,
        uses=(Use(of=Limiter.LINK, share=0.98, limit=0.95, unit="share of its rate"),) if state == "valid" else (),
    )


def link(network: str, *, air_bytes: int, events: Sequence[tuple[float, str]] = (), late_s: float = 0.0) -> LinkProof:
    """events: (seconds after the window's start, label), each in force `late_s` later."""
    rate, medium = NETWORKS[network]
    names = ("air",) if medium == "shared" else ("uplink-0", "downlink-0")
    queues = tuple(QueueCounters(name=n, bytes=air_bytes // len(names), packets=100, dropped=0) for n in names)
    loss = 0.03 if medium == "shared" else 0.0
    return LinkProof(
        profile=network,
        medium="shared" if medium == "shared" else "duplex",
        rate_uplink=rate,
        rate_downlink=rate,
        events=tuple(
            LinkEvent(at_s=at_s, t_ns=START + round((at_s + late_s) * SECOND), label=label) for at_s, label in events
        ),
        checks=(
            *(
                LinkCheck(quantity="change", direction="uplink", source="trial", asked=0, delivered=late_s, low=0,
                          high=0.02)
                for _ in events[:1]
            ),
            *(
                LinkCheck(quantity="rate", direction=direction, source="probe", asked=rate, delivered=rate * 1.001,
                          low=rate * 0.98, high=rate * 1.02)
                for direction in ("uplink", "downlink")
            ),
            LinkCheck(quantity="loss", direction="uplink", source="trial", asked=loss, delivered=loss,
                      low=0.0, high=0.06, detail="binomial interval, 4000 packets"),
        ),
        loss_lists=(LossList(direction="uplink", model="bernoulli", seed=7, modulus=65536, listed=int(65536 * loss),
                             sha256="0" * 64),),
        counters=(Counters(during="window", seconds=8.0, queues=queues,
                           losses=(LossCounters(direction="uplink", seen=4000, dropped=int(4000 * loss)),)),),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A campaign to write.  states: (cell, trial) to verdict.  absent: trials planned and never written.

    pace, slow: a factor on the rates and one on the latencies of each trial in turn, on every network; rise: see Load.
    """

    bodies: tuple[int, ...] = (100, 5120)
    guarantees: tuple[str, ...] = ("non-durable, non-persistent", "durable, persistent")
    networks: tuple[str, ...] = tuple(NETWORKS)
    trials: int = 3
    states: dict[tuple[str, int], str] = field(default_factory=dict)
    absent: frozenset[tuple[str, int]] = frozenset()
    packets: int = 40
    speed: float = 1.0  # factor on the message rates of the wire
    consumers: int = 2
    name: str = "c1"
    scenario: str = "synthetic"
    revision: str = "0123abc"
    first_seed: int = 101
    pace: tuple[float, ...] = (1.0,)
    slow: tuple[float, ...] = (1.0,)
    rise: float = 0.0
    events: tuple[tuple[float, str], ...] = ()  # on the shared medium: seconds after the window's start, label
    rates: Rates = ()  # of the same
    stacks: dict[str, tuple[float, str]] = field(default_factory=dict)  # a factor: factor on the rates, guarantee class
    captures: Callable[[str], list[tuple[str, str, bytes, int]]] | None = None  # network to (node, side, pcap, packets)


def load_of(network: str, body: int, trial: int, spec: Spec, stack: str = "") -> Load:
    """Wireless carries a tenth; trials differ by some percent, in step on both networks."""
    rate = (100.0 if body == 100 else 40.0) * (1 + 0.02 * trial) * spec.pace[trial % len(spec.pace)]
    rate *= spec.stacks[stack][0] if stack else 1.0
    slow = spec.slow[trial % len(spec.slow)]
    if network == "nistnet-80211":
        return Load(rate=rate / 10, latency=0.2 * slow, body_bytes=body, lose=frozenset({3}),
                    consumers=spec.consumers, rise=spec.rise)  # fmt: skip
    return Load(rate=rate * spec.speed, latency=0.002 * slow, body_bytes=body, consumers=spec.consumers,
                rise=spec.rise)  # fmt: skip


def captures_of(network: str, spec: Spec) -> list[tuple[str, str, bytes, int]]:
    """(node, side, pcap, packets) of each capture of a trial."""
    if spec.captures is not None:
        return spec.captures(network)
    rtt = 80_000_000 if network == "nistnet-80211" else 400_000
    segments = conversation(packets=spec.packets, rtt_ns=rtt)
    return [("sta1", "station", segments_pcap(segments), len(segments))]


def manifest(
    cell: Cell, trial: int, *, spec: Spec, load: Load, captures: list[Capture], rows: dict[str, int]
) -> Manifest:
    return Manifest(
        scenario=spec.scenario, scenario_digest="d" * 64, campaign=spec.name, cell=cell, trial=trial,
        seed=spec.first_seed + trial - 1,
        stack=cell.levels.get("stack", "reference"),
        guarantee_class=spec.stacks[cell.levels["stack"]][1] if spec.stacks else "best effort",
        workload=PlacedWorkload(
            asked=PubSub(
                clients=PubSubClients(publishers=1, subscribers=max(load.consumers, 1)), body_bytes=load.body_bytes
            ),
            producers=(Producer(id=1, node="sta1", topic=0),),
            consumers=tuple(Consumer(id=10 + n, node="sta1", topic=0) for n in range(load.consumers)),
        ),
        nodes=(Node(name="sta1", role="station", address=STATION), Node(name="srv", role="server", address=SERVER)),
        profile={"name": cell.levels["network"]}, window=WINDOW, clock_offset_ns=OFFSET,
        git=Git(revision=spec.revision, dirty=False), kernel=Kernel(release="6.1.0", chosen="host"),
        machine=Machine(cpu_model="Some CPU", cores=2, memory_bytes=8 << 30, load_1m_before=0.1),
        versions={"python": "3.11.2", "tcpdump": "4.99.3"},
        sysctls={"sta1": {"net.ipv4.tcp_congestion_control": "reno"}},
        kernel_state={"tc -s qdisc show": "qdisc tbf 1: dev air root refcnt 2 rate 1Mbit burst 1600b lat 1s",
                      "nft list ruleset": "table bridge loss {\n  set up { ... }\n}"},
        captures=tuple(captures), rows=rows,
    )  # fmt: skip


def write_trial(folder: Path, cell: Cell, trial: int, spec: Spec) -> Trial:
    network, body = cell.levels["network"], int(cell.levels["body"].removesuffix(" B"))
    load = load_of(network, body, trial, spec, cell.levels.get("stack", ""))
    writer = TrialWriter(folder, cell.name, trial)
    path = writer.open()
    air = 125_000 * 8 * 9 // 10 if network == "nistnet-80211" else 400_000
    queues = {"air": air / 8} if network == "nistnet-80211" else {"uplink-0": air / 16, "downlink-0": air / 16}
    changes = network == "nistnet-80211"
    rates = {"air": spec.rates} if changes and spec.rates else {}
    written = tables(load) | {"resources": resources(queues=queues, rates=rates)}
    for name, table in written.items():
        write_table(path / f"{name}.parquet", table)
    captures = []
    for node, side, data, packets in captures_of(network, spec):
        (path / f"{node}.pcap").write_bytes(data)
        captures.append(Capture(
            file=f"{node}.pcap", port=node, side=side, node=node, snap_bytes=128, packets=packets, dropped=0,  # type: ignore[arg-type]
            bytes=len(data), sha256=hashlib.sha256(data).hexdigest(),
        ))  # fmt: skip
    rows = {name: table.num_rows for name, table in written.items()}
    write_record(path / MANIFEST, manifest(cell, trial, spec=spec, load=load, captures=captures, rows=rows))
    write_record(
        path / LINK, link(network, air_bytes=air, events=spec.events if changes else (), late_s=0.0004 * trial)
    )
    write_record(path / VERDICT, verdict(spec.states.get((cell.name, trial), "valid")))
    return writer.commit()


def write_campaign(root: Path, spec: Spec | None = None) -> Path:
    """Write <root>/<scenario>/<name> (synthetic/c1 by default) and return it."""
    spec = spec or Spec()
    folder = root / spec.scenario / spec.name
    cells = []
    for network, body, guarantee, stack in itertools.product(
        spec.networks, spec.bodies, spec.guarantees, spec.stacks or ("",)
    ):
        levels = {"network": network, "body": f"{body} B", "guarantee": guarantee} | ({"stack": stack} if stack else {})
        short = "".join(word[0] for word in guarantee.replace("-", " ").split())
        cells.append(Cell(name=f"{network}_{body}_{short}" + (f"_{stack}" if stack else ""), levels=levels))
    order = tuple(
        records.Planned(cell=cell.name, trial=trial, seed=spec.first_seed + trial - 1)
        for trial in range(1, spec.trials + 1)
        for cell in cells
    )
    records.write_campaign(
        folder,
        records.Campaign(
            scenario=spec.scenario, digest="d" * 64, created="2023-11-14T22:29:00Z", seed=1,
            factors={"network": spec.networks, "body": tuple(f"{b} B" for b in spec.bodies),
                     "guarantee": spec.guarantees} | ({"stack": tuple(spec.stacks)} if spec.stacks else {}),
            baseline=spec.networks[0] if len(spec.networks) > 1 else None,
            cells=tuple(records.Cell(name=c.name, levels=c.levels, settings={}) for c in cells), order=order,
        ),
    )  # fmt: skip
    for cell, trial in itertools.product(cells, range(1, spec.trials + 1)):
        if (cell.name, trial) not in spec.absent:
            write_trial(folder, cell, trial, spec)
    return folder
