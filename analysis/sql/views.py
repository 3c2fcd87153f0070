"""The views: what the data source's schemas, the tables of docs/spark.md and `lab sql --views` are made from."""

from __future__ import annotations

import pyarrow as pa

from analysis.journey.parts import BY_NODES, DIRECT, EVERY, RELAYED, halves, kind, of_reply, ordered
from analysis.metrics import COMPUTED, METRICS
from analysis.spark.schema import PACKETS
from analysis.sql.columns import FLAG, INT, LONG, REAL, TEXT, Column, View
from records.manifest import Capture
from records.schema import DELIVERED, PUBLISHED, RESOURCES

REDUCED = "the trial's reduction, kept or made now"
_FROM_START = "from the window's start, on the trial's clock"


def _named(name: str, type_: pa.DataType, about: str, unit: str = "") -> Column:
    return Column(name=name, type=type_, about=about, unit=unit)


CAMPAIGN = _named("campaign", TEXT, "name of the campaign's folder")
CELL = _named("cell", TEXT, "name of the cell's folder")
TRIAL = _named("trial", INT, "number of the trial in its cell, from 1")
WHICH = (CAMPAIGN, CELL, TRIAL)
_LEVELS = _named("levels", pa.map_(TEXT, TEXT), "factor to level, as in `levels['network']`")
_SCENARIO = _named("scenario", TEXT, "name of the scenario")
_GUARANTEE = _named("guarantee_class", TEXT, "stacks are compared only inside one class of equal guarantees")
_PATTERN = _named("pattern", TEXT, "of the workload, such as pubsub, queue or request_reply")
_LATENCY_OF = _named("latency_of", TEXT, "whose latency it is: `sent` in the window, or (older) what `arrived` in it")
_BOUND = _named("lower_bound", FLAG, "whether the value is a lower bound, as something never came")

METRIC_NAMES = tuple(name for name in METRICS if name not in {one.name for one in COMPUTED})
_METRICS = tuple(
    Column(name=name, type=REAL, unit=METRICS[name].unit, about=METRICS[name].about, metric=True)
    for name in METRIC_NAMES
)
ESTIMATE = pa.struct(
    [pa.field("mean", REAL), pa.field("low", REAL), pa.field("high", REAL), pa.field("n", INT),
     pa.field("lower_bound", FLAG)]
)  # fmt: skip

TRIALS = View(
    name="trials",
    about="a trial: finished, damaged (`reasons` says of what), failed, or planned and not run",
    source=f"{REDUCED}; manifest.json; campaign.json",
    per="trial",
    columns=(
        *WHICH, _SCENARIO, _LEVELS,
        _named("state", TEXT, "valid, invalid, inconclusive, damaged, failed or missing; only valid ones are averaged"),
        _named("reasons", pa.list_(TEXT), "why it is not valid, or what a reader has to know"),
        _named("seed", LONG, "of the trial's random choices"),
        _named("stack", TEXT, "messaging stack; empty where the load is programs"),
        _GUARANTEE, _PATTERN,
        _named("kernel", TEXT, "host: the machine's own; lab: the embedded one"),
        _named("medium", TEXT, "what made the link: tc or line; the profile's medium is in links"),
        _named("started_at", TEXT, "wall clock of the window's start, ISO 8601, UTC"),
        _named("window_s", REAL, "length of the measurement window", "s"),
        _named("clock_offset_ns", LONG, "added to a ledger's time it gives the packets' clock", "ns"),
        _LATENCY_OF,
        _named("lower_bounds", pa.list_(TEXT), "metrics of this trial that are lower bounds"),
        *_METRICS,
        _named("other_metrics", pa.map_(TEXT, REAL), "what programs printed, in their units, and what metrics are of"),
    ),
)  # fmt: skip

CELLS = View(
    name="cells",
    about="a cell as planned, and means over its valid trials",
    source=f"campaign.json; {REDUCED}, of every trial of the cell",
    per="cell",
    columns=(
        CAMPAIGN, CELL, _SCENARIO, _LEVELS, _GUARANTEE, _PATTERN,
        _named("trials", INT, "planned or run; where a rule ends the cell, those it needed"),
        *(
            _named(name, INT, f"how many of them are {name}")
            for name in ("valid", "invalid", "inconclusive", "damaged", "failed", "missing")
        ),
        *(
            Column(name=one.name, type=ESTIMATE, unit=one.unit, metric=True, about=f"{one.about}; mean over trials")
            for one in _METRICS
        ),
        _named("other_metrics", pa.map_(TEXT, ESTIMATE), "what its programs printed, in their units"),
    ),
)  # fmt: skip


# Of each table, the time that counts from the window's start.
CLOCKS = {"published": "t_sched_ns", "delivered": "t_recv_ns", "resources": "t_ns"}


def _ledger(name: str, schema: pa.Schema, about: str, told: dict[str, str]) -> View:
    """A table of the trial's own, as it stands in the file, and one of its times from the window's start."""
    columns = tuple(
        _named(one.name, one.type, told[one.name], "ns" if one.name.endswith("_ns") else "") for one in schema
    )
    at = _named("at_s", REAL, f"`{CLOCKS[name]}` {_FROM_START}", "s")
    return View(
        name=name, about=about, source=f"{name}.parquet", per="trial", columns=(*WHICH, at, *columns),
        files=(f"{name}.parquet",),
    )  # fmt: skip


PUBLISHED_VIEW = _ledger(
    "published", PUBLISHED, "a message that was sent, in or outside the window",
    {
        "producer": "who sent it", "seq": "its number among the producer's, from 0",
        "topic": "number of its topic", "body_bytes": "bytes of its body", "property": "what selectors choose by",
        "t_sched_ns": "when it was due, CLOCK_MONOTONIC", "t_send_ns": "when it was sent",
        "t_ack_ns": "when the stack answered; null: never", "outcome": "0 answered, 1 refused, 2 in doubt",
        "t_given_up_ns": "when its sender stopped waiting for an answer, of one in doubt; null: at the end",
    },
)  # fmt: skip
DELIVERED_VIEW = _ledger(
    "delivered", DELIVERED, "a message that came to a consumer, each time that it came",
    {
        "consumer": "whom it came to", "producer": "who sent it", "seq": "its number among the producer's",
        "t_recv_ns": "when the handler had it, CLOCK_MONOTONIC",
        "arrival": "order of arrival in the consumer's process", "redelivered": "whether the stack says it came before",
    },
)  # fmt: skip
RESOURCES_VIEW = _ledger(
    "resources", RESOURCES, "a sample of the machine, a process or a queue",
    {
        "t_ns": "when, CLOCK_MONOTONIC", "subject": "machine, host, generator:NODE, server:NAME, queue:NAME ...",
        "metric": "such as cpu_seconds, rss_bytes, backlog_bytes, sent_bytes",
        "value": "in the unit of the metric's name",
    },
)  # fmt: skip

_COUNTS = {
    "packets": "packets sent", "wire_bytes": "bytes on the wire, headers included", "payload_bytes": "bytes of payload",
    "new_bytes": "bytes of payload not seen before", "data_packets": "packets with payload",
    "retr_or_ooo": "packets with payload, sent again or overtaken", "retransmissions": "packets sent again",
    "fast_retransmissions": "of these, after duplicate acknowledgements",
    "spurious_retransmissions": "of these, of what had been acknowledged", "out_of_order": "overtaken packets",
    "keep_alives": "keep-alives", "zero_window_probes": "probes of a closed window", "resets": "packets with RST",
    "duplicate_acks": "duplicate acknowledgements that came back", "zero_windows": "closed windows that came back",
    "recoveries": "episodes of loss recovery that began", "rtt_samples": "round trips that Karn's filter leaves",
    "rtt_any_samples": "round trips, the ambiguous ones too",
}  # fmt: skip
_BYTES = ("wire_bytes", "payload_bytes", "new_bytes")
_RTT = tuple(
    _named(f"{prefix}_{figure}_s", REAL, f"{figure} of these round trips", "s")
    for prefix in ("rtt", "rtt_any")
    for figure in ("mean", "p50", "p95", "p99", "max")
)
FLOWS = View(
    name="flows",
    about="a directed TCP flow, as captured where it enters the medium, inside the window",
    source=REDUCED,
    per="trial",
    columns=(
        *WHICH, _named("flow", TEXT, "both ends, `node:port → node:port`"),
        _named("direction", TEXT, "uplink or downlink"),
        *(_named(name, LONG, about, "B" if name in _BYTES else "") for name, about in _COUNTS.items()),
        _named("active_s", REAL, "part of the window between a flow's first and last packet, wherever these are", "s"),
        _named("goodput_bit_s", REAL, "new payload over that time", "bit/s"),
        _named("recovery_s", REAL, "time in loss recovery", "s"),
        *_RTT,
    ),
)  # fmt: skip

_WAYS = ("uplink", "downlink")
_SERIES = (
    _named("published_per_s", REAL, "sends answered in this second", "1/s"),
    _named("delivered_per_s", REAL, "first deliveries in this second", "1/s"),
    _named("backlog_bytes", REAL, "waiting in all of the link's queues", "B"),
    *(
        _named(f"utilisation_{part}", REAL, f"use of the busiest queue, {part}, of its rate", "share")
        for part in ("air", *_WAYS)
    ),
    *(
        _named(f"rate_{part}", REAL, f"rate of the link, {part}, from then on, where a timeline changes it", "bit/s")
        for part in ("air", *_WAYS)
    ),
    *(
        _named(f"{name}_{way}", REAL, f"{about}, {way}", unit)
        for name, about, unit in (
            ("packets_per_s", "TCP packets into the link", "1/s"),
            ("wire_bytes_per_s", "bytes of them", "B/s"),
            ("retr_per_s", "packets retransmitted or overtaken", "1/s"),
            ("recovery", "part of the second in which any flow was in loss recovery", "share"),
        )
        for way in _WAYS
    ),
)
SECONDS = View(
    name="seconds",
    about="a second from go to the drain's end; changes of a rate have rows of their own",
    source=REDUCED,
    per="trial",
    columns=(
        *WHICH, _named("t_s", REAL, f"middle of the second {_FROM_START}", "s"), *_SERIES,
        _named("other_series", pa.map_(TEXT, REAL), "rates of further queues, by `rate_QUEUE`", "bit/s"),
    ),
)  # fmt: skip

_ONE_WAY = (
    *DIRECT, *RELAYED, *BY_NODES, *(half for air in ("air", "to_broker_air", "from_broker_air") for half in halves(air))
)  # fmt: skip
PARTS = ordered((*EVERY, *_ONE_WAY, *map(of_reply, _ONE_WAY)))


def _part_about(part: str) -> str:
    if part == "service":
        return "the service's own time"
    way = kind(part)
    return f"{way.replace('_', ' ')}, of the reply's way" if way != part else way.replace("_", " ")


JOURNEYS = View(
    name="journeys",
    about="where a latency goes: means of its parts over all deliveries, or over those around a percentile",
    source=REDUCED,
    per="trial",
    columns=(
        *WHICH, _named("of", TEXT, "mean, p50, p90, p99 or p99.9"),
        _named("attributed_share", REAL, "of the deliveries, those whose time could be split", "share"),
        _named("latency_s", REAL, "of these deliveries: the parts sum to it", "s"),
        *(_named(f"{part}_s", REAL, _part_about(part), "s") for part in PARTS),
        _named("links_s", pa.map_(TEXT, REAL), "links between routers or servers, by `link_NAME`", "s"),
        _named("why", TEXT, "what could not be told; a trial without a journey has one row that says why"),
        _LATENCY_OF,
    ),
)  # fmt: skip
PERCENTILES = View(
    name="percentiles",
    about="a percentile of latency, all messages pooled",
    source=REDUCED,
    per="trial",
    columns=(
        *WHICH, _named("percentile", TEXT, "p50, p90, p95, p99 or p99.9"), _named("latency_s", REAL, "its value", "s"),
        _named("low_s", REAL, "lower end of its 95 % interval by order statistics", "s"),
        _named("high_s", REAL, "upper end; null where there is none, or what never came lies there", "s"),
        _BOUND, _LATENCY_OF,
    ),
)  # fmt: skip
EVENTS = View(
    name="events",
    about="a change of the link, of a node or of a consumer while the trial ran",
    source=REDUCED,
    per="trial",
    columns=(
        *WHICH, _named("asked_s", REAL, f"when it was asked, {_FROM_START}", "s"),
        _named("in_force_s", REAL, "when it was in force", "s"), _named("label", TEXT, "what it is called"),
    ),
)  # fmt: skip

CLIENTS = View(
    name="clients",
    about="a producer or a consumer of the trial, and where it was",
    source="manifest.json",
    per="trial",
    columns=(
        *WHICH, _named("role", TEXT, "producer or consumer; callers produce, services consume"),
        _named("number", INT, "what `producer` and `consumer` of published and delivered say"),
        _named("node", TEXT, "the station, or server, that it was on"),
        _named("topic", INT, "number of its topic, queue, group or flow"),
        _named("ports", pa.list_(INT), "local ports of its TCP connections, one after the other, as in flows"),
        _named("durable", FLAG, "whether its subscription is durable; null for a producer"),
        _named("caller", INT, "the producer whose replies come to this consumer; null where messages come"),
    ),
    files=("manifest.json",),
)  # fmt: skip

_CHECK = pa.struct(
    [("quantity", TEXT), ("direction", TEXT), ("source", TEXT), ("state", TEXT), ("path", TEXT), ("asked", REAL),
     ("delivered", REAL), ("low", REAL), ("high", REAL), ("holds", FLAG), ("detail", TEXT)]
)  # fmt: skip
_QUEUE = pa.struct([("during", TEXT), ("name", TEXT), ("bytes", LONG), ("packets", LONG), ("dropped", LONG)])
_LOSS = pa.struct([("during", TEXT), ("name", TEXT), ("direction", TEXT), ("seen", LONG), ("dropped", LONG)])
LINKS = View(
    name="links",
    about="a link of the trial, with its proof: `inline(checks)` gives a row per check",
    source="link.json",
    per="trial",
    columns=(
        *WHICH, _named("segment", TEXT, "empty where the network has one"), _named("profile", TEXT, "its name"),
        _named("made_by", TEXT, "tc, line; empty: not recorded"),
        _named("medium", TEXT, "shared or duplex, as the profile says; what made the link is made_by"),
        _named("between_servers", FLAG, "a link between routers or servers, not a medium that stations hang on"),
        *(_named(f"rate_{way}", REAL, f"{way}; null: no limit", "bit/s") for way in _WAYS),
        *(_named(f"overhead_{way}_s", REAL, f"time of each frame beside its bits, {way}", "s") for way in _WAYS),
        _named("holds", FLAG, "whether it is what was asked for, by every check"),
        _named("checks", pa.list_(_CHECK), "asked against delivered; quantities in SI units, losses as shares"),
        _named("queues", pa.list_(_QUEUE), "counters in the window, and from go to the drain's end (`during`)"),
        _named("losses", pa.list_(_LOSS), "packets that met a list of losses, and those it dropped"),
    ),
    files=("link.json",),
)  # fmt: skip

_POINTS = ", ".join(Capture.model_fields["side"].annotation.__args__)  # type: ignore[union-attr]
_UNITS = {"ts_ns": "ns", "cap_len": "B", "wire_len": "B", "payload_len": "B"}
PACKETS_VIEW = View(
    name="packets",
    about="a packet of one of the trial's captures",
    source="the captures that the manifest names",
    per="range",
    columns=(
        *WHICH, _named("side", TEXT, f"where it was captured: {_POINTS}"), _named("node", TEXT, "whose port it is"),
        _named("at_s", REAL, f"`ts_ns` {_FROM_START}", "s"),
        *(
            _named(
                one.name, one.type,
                "file of the capture" if one.name == "capture" else one.metadata[b"about"].decode(),
                _UNITS.get(one.name, ""),
            )
            for one in PACKETS
        ),
    ),
    files=("captures",),
)  # fmt: skip

_EVERY = (
    TRIALS, CELLS, PUBLISHED_VIEW, DELIVERED_VIEW, FLOWS, SECONDS, JOURNEYS, PERCENTILES, LINKS, CLIENTS,
    RESOURCES_VIEW, EVENTS, PACKETS_VIEW,
)  # fmt: skip
VIEWS = {one.name: one for one in _EVERY}
