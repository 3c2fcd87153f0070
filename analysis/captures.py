"""Flows of one trial: each is taken from the capture at the side where its packets enter the medium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address

import numpy as np
import pyarrow as pa

from analysis.capture.columns import Packets
from analysis.direction import Direction, add_flows, bin_edges, direction_rows
from analysis.rows import Rows
from analysis.tcp.analysis import Analysis, analyse
from analysis.tcp.connections import Flows
from analysis.tcp.flows import flow_table
from analysis.tcp.names import flow_names
from analysis.tcp.retransmissions import Kind
from analysis.tcp.series import episodes_of, per_bin
from records.manifest import Capture, Manifest
from records.store import DamagedTrial

DIRECTIONS = {"station": "uplink", "wired": "downlink"}
_ORDER = ("low", "high", "key")  # of flows: by their ends, the lower one first, then by connection and direction
_KEPT = (*_ORDER, "name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The flows of a capture that enter the medium there: of all its connections, or of some of them.

    flows: a row each, with its name, what it is ordered by, and the columns of analysis.tcp.flows.FlowTable.
    bins: by analysis.tcp.series.per_bin, between the trial's seconds.  in_recovery: start and end of episodes (n x 2).
    """

    flows: pa.Table
    bins: dict[str, np.ndarray]
    in_recovery: np.ndarray


def enters(capture: Capture, manifest: Manifest) -> bool:
    """Whether packets may enter the medium at this capture's port; DamagedTrial for a node's address that is none."""
    return capture.side in DIRECTIONS and bool(_entering(manifest, capture))


def sent(packets: Packets, capture: Capture, manifest: Manifest) -> Sent:
    """What the TCP packets show of a capture (enters); they may be those of some connections only, then whole ones.

    Raises ValueError when there are more flows than can be told apart, DamagedTrial for a node's address that is none.
    """
    window, offset = manifest.window, manifest.clock_offset_ns
    mine = _entering(manifest, capture)
    nodes = {int(IPv4Address(node.address)): node.name for node in manifest.nodes}
    analysis = analyse(packets)
    flows = analysis.flows
    chosen = np.isin(flows.src, list(mine))
    analysis = _as_sent(analysis, chosen)
    table = flow_table(analysis, start_ns=window.start_ns + offset, end_ns=window.end_ns + offset)
    return Sent(
        flows=pa.table(_named(flows, nodes) | table.columns).filter(pa.array(chosen)),
        bins=per_bin(analysis, chosen, bin_edges(window, offset)),
        in_recovery=episodes_of(analysis, chosen),
    )


def together(some: Sequence[Sent]) -> Sent:
    """What different connections of one capture sent, one or more."""
    flows = pa.concat_tables([one.flows for one in some])
    return Sent(
        flows=flows.sort_by([(name, "ascending") for name in _ORDER]),
        bins={name: np.sum([one.bins[name] for one in some], axis=0) for name in some[0].bins},
        in_recovery=np.concatenate([one.in_recovery for one in some]),
    )


def capture_rows(found: Sequence[tuple[Capture, Sent]], manifest: Manifest, rows: Rows) -> None:
    """Add rows of tables `flow` and `second` and the trial's TCP metrics, from the access point's own ports."""
    edges_ns = bin_edges(manifest.window, manifest.clock_offset_ns)
    totals = {name: Direction(edges_ns) for name in DIRECTIONS.values()}
    for capture, one in found:
        direction = DIRECTIONS[capture.side]
        columns = {name: one.flows.column(name).to_numpy() for name in one.flows.column_names if name not in _KEPT}
        add_flows(totals[direction], columns, one.bins, one.in_recovery)
        names = one.flows.column("name").to_pylist()
        for row in np.flatnonzero(columns["packets"] > 0).tolist():
            _one_flow(columns, row, key=names[row], direction=direction, rows=rows)
    for name, total in totals.items():
        direction_rows(name, total, manifest.window, rows)


def _named(flows: Flows, nodes: Mapping[int, str]) -> dict[str, object]:
    """Names of flows, and what they are ordered by: as they stand here, whichever others stand beside them."""
    src, dst = ([nodes.get(one) or str(IPv4Address(one)) for one in side.tolist()] for side in (flows.src, flows.dst))
    ends = np.stack([flows.src << 16 | flows.sport, flows.dst << 16 | flows.dport])
    return {"low": ends.min(axis=0), "high": ends.max(axis=0), "key": flows.key, "name": flow_names(flows, src, dst)}


def _as_sent(analysis: Analysis, entering: np.ndarray) -> Analysis:
    """Where a flow enters the medium nothing has overtaken anything yet: what was here before is sent again.

    tshark takes it for overtaken when it comes sooner than the handshake took, which on a long link it does: the last
    new packet is never long ago.  entering: a mask over flows.
    """
    known = analysis.new < analysis.stream.payload
    again = (analysis.kind == Kind.OUT_OF_ORDER) & known & entering[analysis.flow]
    return replace(analysis, kind=np.where(again, Kind.RETRANSMISSION, analysis.kind).astype(analysis.kind.dtype))


def _entering(manifest: Manifest, capture: Capture) -> set[int]:
    """Addresses whose packets enter the medium at this capture's port; none at a wired port without a server."""
    role = "station" if capture.side == "station" else "server"
    nodes = [node for node in manifest.nodes if node.role == role]
    mine = [node for node in nodes if node.name == capture.node] if role == "station" else nodes
    try:
        return {int(IPv4Address(node.address)) for node in mine or nodes}
    except ValueError as error:
        raise DamagedTrial(f"manifest.json: nodes: {error}") from error


def _one_flow(columns: Mapping[str, np.ndarray], row: int, *, key: str, direction: str, rows: Rows) -> None:
    rows.add("flow", "direction", key=key, text=direction)
    for name, column in columns.items():
        value = float(column[row])
        if not np.isnan(value):
            rows.add("flow", name, key=key, value=value)
