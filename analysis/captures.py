"""Flows of one trial: each is taken from the capture at the side where its packets enter the medium."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address

import numpy as np

from analysis.capture.flows import FlowTable, flow_table
from analysis.capture.tcp import Analysis, analyse
from analysis.recorded import Recorded
from analysis.rows import Rows
from results.manifest import Capture, Manifest
from results.store import DamagedTrial

DIRECTIONS = {"station": "uplink", "wired": "downlink"}


@dataclass(slots=True)
class _Totals:
    """Sums over the flows of one direction, for the trial's own metrics."""

    data_packets: int = 0
    retr_or_ooo: int = 0
    rtt_samples: int = 0
    rtt_total_s: float = 0.0


def capture_rows(recorded: Recorded, manifest: Manifest, rows: Rows) -> None:
    """Add rows of table `flow` and the trial's TCP metrics, from the captures at the access point's ports."""
    totals = {direction: _Totals() for direction in DIRECTIONS.values()}
    for capture, file in recorded:
        if capture.side in DIRECTIONS:
            _flow_rows(analyse(file.packets), capture, manifest, rows, totals[DIRECTIONS[capture.side]])
    for direction, total in totals.items():
        if total.data_packets:
            rows.add("trial", f"retr_share_{direction}", value=total.retr_or_ooo / total.data_packets)
        if total.rtt_samples:
            rows.add("trial", f"rtt_mean_{direction}_s", value=total.rtt_total_s / total.rtt_samples)


def _flow_rows(analysis: Analysis, capture: Capture, manifest: Manifest, rows: Rows, totals: _Totals) -> None:
    window, offset = manifest.window, manifest.clock_offset_ns
    table = flow_table(analysis, start_ns=window.start_ns + offset, end_ns=window.end_ns + offset)
    entering = _entering(manifest, capture)
    names = {int(IPv4Address(node.address)): node.name for node in manifest.nodes}
    flows = analysis.flows
    seen = table.columns["packets"] > 0
    for row in np.flatnonzero(seen & np.isin(flows.src, list(entering))).tolist():
        ends = [
            f"{names.get(address, str(IPv4Address(address)))}:{port}"
            for address, port in (
                (int(flows.src[row]), int(flows.sport[row])),
                (int(flows.dst[row]), int(flows.dport[row])),
            )
        ]
        _one_flow(table, row, key=f"{ends[0]} → {ends[1]}", direction=DIRECTIONS[capture.side], rows=rows)
        _add(totals, table, row)


def _entering(manifest: Manifest, capture: Capture) -> set[int]:
    """Addresses whose packets enter the medium at this capture's port."""
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


def _add(totals: _Totals, table: FlowTable, row: int) -> None:
    column = table.columns
    totals.data_packets += int(column["data_packets"][row])
    totals.retr_or_ooo += int(column["retr_or_ooo"][row])
    if samples := int(column["rtt_samples"][row]):
        totals.rtt_samples += samples
        totals.rtt_total_s += samples * float(column["rtt_mean_s"][row])
