"""Flows of one trial: each is taken from the capture at the side where its packets enter the medium."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address

import numpy as np

from analysis.direction import Direction, add_flows, direction_rows, empty_direction
from analysis.recorded import Recorded
from analysis.rows import Rows
from analysis.tcp.analysis import Analysis, analyse
from analysis.tcp.flows import FlowTable, flow_table
from analysis.tcp.names import flow_names
from analysis.tcp.retransmissions import Kind
from records.manifest import Capture, Manifest
from records.store import DamagedTrial

DIRECTIONS = {"station": "uplink", "wired": "downlink"}


def capture_rows(recorded: Recorded, manifest: Manifest, rows: Rows) -> None:
    """Add rows of tables `flow` and `second` and the trial's TCP metrics, from the access point's own ports."""
    window = manifest.window
    totals = {name: empty_direction(window, manifest.clock_offset_ns) for name in DIRECTIONS.values()}
    for capture, file in recorded:
        if capture.side in DIRECTIONS and _entering(manifest, capture):
            _flow_rows(analyse(file.tcp), capture, manifest, rows, totals[DIRECTIONS[capture.side]])
    for name, total in totals.items():
        direction_rows(name, total, window, rows)


def _flow_rows(analysis: Analysis, capture: Capture, manifest: Manifest, rows: Rows, total: Direction) -> None:
    window, offset = manifest.window, manifest.clock_offset_ns
    nodes = {int(IPv4Address(node.address)): node.name for node in manifest.nodes}
    flows = analysis.flows
    src, dst = (
        [nodes.get(address, str(IPv4Address(address))) for address in side.tolist()] for side in (flows.src, flows.dst)
    )
    names = flow_names(flows, src, dst)
    mine = np.isin(flows.src, list(_entering(manifest, capture)))
    analysis = _as_sent(analysis, mine)
    table = flow_table(analysis, start_ns=window.start_ns + offset, end_ns=window.end_ns + offset)
    add_flows(total, analysis, table, chosen=mine)
    for row in np.flatnonzero(mine & (table.columns["packets"] > 0)).tolist():
        _one_flow(table, row, key=names[row], direction=DIRECTIONS[capture.side], rows=rows)


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


def _one_flow(table: FlowTable, row: int, *, key: str, direction: str, rows: Rows) -> None:
    rows.add("flow", "direction", key=key, text=direction)
    for name, column in table.columns.items():
        value = float(column[row])
        if not np.isnan(value):
            rows.add("flow", name, key=key, value=value)
