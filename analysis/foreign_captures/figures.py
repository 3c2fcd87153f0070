"""The figures of a flow that the page and the terminal show: what each is called, its unit, what it counts."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from analysis.metric import Metric, Unit
from analysis.units import digits, quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One column of the flow table."""

    name: str
    label: str
    unit: Unit
    about: str

    def text(self, value: float | None) -> str:
        """A value with its unit; a dash when there is none."""
        if value is not None and self.unit == "B":
            return size_text(value)
        return quantity(Metric(name=self.name, label=self.label, unit=self.unit, better=None, about=self.about), value)


_ALL = (
    Figure(name="first_s", label="Begins", unit="s", about="first packet, after the capture's first TCP packet"),
    Figure(name="active_s", label="Lasts", unit="s", about="from the flow's first packet to its last"),
    Figure(name="packets", label="Packets", unit="count", about="of this direction, acknowledgements included"),
    Figure(name="wire_bytes", label="Bytes", unit="B", about="on the wire, link headers included"),
    Figure(
        name="payload_bytes", label="Payload", unit="B", about="TCP payload, what was sent again counted each time"
    ),
    Figure(name="goodput_bit_s", label="Goodput", unit="bit/s", about="payload that was new, over the flow's time"),
    Figure(name="data_packets", label="With payload", unit="count", about="packets that carry data"),
    Figure(
        name="retr_or_ooo", label="Retransmitted or overtaken", unit="count",
        about="packets with data that do not begin at or after the highest byte seen before; seen from one place, "
        "a retransmission and an overtaken packet look alike",
    ),
    Figure(
        name="retransmissions", label="Retransmitted", unit="count",
        about="those of them that were sent again, by tshark's rules",
    ),
    Figure(name="out_of_order", label="Out of order", unit="count", about="those that were overtaken, by the same"),
    Figure(
        name="spurious_retransmissions", label="Spurious", unit="count",
        about="retransmissions of what had been acknowledged already",
    ),
    Figure(
        name="duplicate_acks", label="Duplicate ACKs back", unit="count",
        about="empty acknowledgements from the other side that repeat the one before",
    ),
    Figure(
        name="zero_windows", label="Zero windows back", unit="count",
        about="packets with which the other side said that it had no room",
    ),
    Figure(
        name="recovery_s", label="In loss recovery", unit="s",
        about="from a retransmission until everything sent before it was acknowledged",
    ),
    Figure(
        name="rtt_mean_s", label="RTT mean", unit="s",
        about="from a data packet to its acknowledgement, as seen where the capture was made; only packets that were "
        "sent once (Karn)",
    ),
    Figure(name="rtt_p50_s", label="RTT median", unit="s", about="as the mean; exact"),
    Figure(name="rtt_p95_s", label="RTT 95th pct.", unit="s", about="as the mean; exact"),
    Figure(name="rtt_p99_s", label="RTT 99th pct.", unit="s", about="as the mean; exact"),
    Figure(name="rtt_max_s", label="RTT highest", unit="s", about="as the mean"),
    Figure(name="rtt_samples", label="RTT samples", unit="count", about="acknowledgements that the round trips are of"),
)  # fmt: skip
TERMINAL = ("packets", "wire_bytes", "retr_or_ooo", "duplicate_acks", "rtt_p50_s", "rtt_p95_s", "active_s")


def figures(flows: pa.Table, names: tuple[str, ...] | None = None) -> list[Figure]:
    """Those of the known figures that the table has; names: only these."""
    return [one for one in _ALL if one.name in flows.column_names and (names is None or one.name in names)]


def size_text(size: float) -> str:
    """Bytes with a decimal prefix."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= factor:
            return f"{digits(size / factor)} {unit}"
    return f"{size:.0f} B"
