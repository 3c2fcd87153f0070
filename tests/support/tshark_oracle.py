"""tshark's findings and ours about one capture, in one shape."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from analysis.tcp.analysis import Analysis, Kind

# tshark marks a fast or spurious retransmission as a retransmission, too: the more particular name counts.
_NAMES = {
    "spurious": "spurious_retransmission", "fast": "fast_retransmission", "retransmission": "retransmission",
    "out_of_order": "out_of_order", "duplicate_ack": "duplicate_ack", "keep_alive": "keep_alive",
    "zero_window": "zero_window", "probe": "zero_window_probe", "probe_ack": "zero_window_probe_ack",
}  # fmt: skip
_AGAIN = ("spurious", "fast", "retransmission", "out_of_order")
NAMES = tuple(_NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """kinds: name to record numbers from 0.  rtt_s: seconds by the acknowledgement's number.

    stream: tshark's number of each record's connection.  blind: those in which something was acknowledged that the
    capture does not have: there tshark has another idea of fast retransmissions and of probes that were taken.
    """

    kinds: dict[str, set[int]]
    rtt_s: dict[int, float]
    stream: list[str]
    blind: set[str]

    @property
    def again(self) -> set[int]:
        """Retransmitted or out of order."""
        return set().union(*(self.kinds[name] for name in _AGAIN))

    def sighted(self, name: str) -> set[int]:
        """The frames of a kind in connections that are whole."""
        return {frame for frame in self.kinds[name] if self.stream[frame] not in self.blind}


def tshark(path: Path) -> Oracle:
    """What tshark finds in the capture."""
    fields = ["frame.number", "tcp.stream", "tcp.analysis.ack_rtt", "tcp.analysis.ack_lost_segment"]
    fields += [f"tcp.analysis.{name}" for name in _NAMES.values()]
    command = ["tshark", "-r", str(path), "-T", "fields", *(part for field in fields for part in ("-e", field))]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    kinds: dict[str, set[int]] = {name: set() for name in _NAMES}
    rtt_s: dict[int, float] = {}
    stream, blind = [], set()
    for line in text.splitlines():
        number, connection, rtt, lost, *marks = line.split("\t")
        frame = int(number) - 1
        stream.append(connection)
        blind |= {connection} if lost else set()
        found = [name for name, mark in zip(_NAMES, marks, strict=True) if mark]
        again = [name for name in found if name in _AGAIN]
        for name in (set(found) - set(again)) | set(again[:1]):
            kinds[name].add(frame)
        if rtt:
            rtt_s[frame] = float(rtt)
    return Oracle(kinds=kinds, rtt_s=rtt_s, stream=stream, blind=blind)


def kinds_of(analysis: Analysis) -> dict[str, set[int]]:
    """Our findings by the same names."""
    masks = {name: analysis.kind == Kind[name.upper()] for name in _AGAIN}
    masks |= {name: getattr(analysis.probes, name) for name in ("keep_alive", "zero_window", "probe", "probe_ack")}
    masks["duplicate_ack"] = analysis.duplicate_ack
    return {name: set(analysis.stream.frame[mask].tolist()) for name, mask in masks.items()}


def ours(analysis: Analysis, theirs: Oracle) -> Oracle:
    """Our findings in tshark's shape, with tshark's connections."""
    rtt = dict(zip(analysis.rtt.frame.tolist(), (analysis.rtt.rtt_ns / 1e9).tolist(), strict=True))
    return Oracle(kinds=kinds_of(analysis), rtt_s=rtt, stream=theirs.stream, blind=theirs.blind)
