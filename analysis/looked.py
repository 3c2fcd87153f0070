"""What was found in a trial's captures: here, or, of a large trial, by other tasks, each in some of the connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from analysis.capture.columns import Columns
from analysis.capture.reader import Capture as PacketFile
from analysis.captures import Sent, enters, sent
from analysis.journey.seen import Seen
from analysis.recorded import Recorded
from records.manifest import Capture, Manifest


class FailedElsewhere(ValueError):
    """Another task could not do its part; the reason is its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """By other tasks.  Of each capture's file: files, what is in it, without packets; unread, why it cannot be read.

    sent: what entered the medium at captures of which there are packets.  shown: what they show of messages' ways, None
    where nobody has looked for them.  failed: why the part of that name (`captures`, `journey`) could not be done.
    of_the_machine: whether anything failed that may go well elsewhere.
    """

    files: Mapping[str, PacketFile] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    sent: Mapping[str, Sent] = field(default_factory=dict)
    shown: Seen | None = None
    failed: Mapping[str, str] = field(default_factory=dict)
    of_the_machine: bool = False

    def read(self, capture: Capture) -> PacketFile:
        """A capture's file; FailedElsewhere where it cannot be read."""
        if capture.file in self.unread:
            raise FailedElsewhere(self.unread[capture.file])
        return self.files[capture.file]

    def ways(self) -> Seen:
        """What is shown of messages' ways; FailedElsewhere where that cannot be told."""
        if self.shown is None:
            raise FailedElsewhere(self.failed.get("journey", "no task has looked for messages in the captures"))
        return self.shown


def all_sent(recorded: Recorded, manifest: Manifest, looked: Looked | None) -> list[tuple[Capture, Sent]]:
    """What entered the medium, by capture; raises what captures.sent does, and FailedElsewhere."""
    if looked is not None and "captures" in looked.failed:
        raise FailedElsewhere(looked.failed["captures"])
    known = {} if looked is None else looked.sent
    return [
        (capture, known[capture.file] if capture.file in known else sent(file.tcp, capture, manifest))
        for capture, file in recorded if enters(capture, manifest)
    ]  # fmt: skip


def without_packets(*, records: int, kinds: Mapping[str, int], damage: str | None) -> PacketFile:
    """A file whose packets stand elsewhere.  kinds: what its records are."""
    nothing = np.empty(0, dtype=np.uint8)
    return PacketFile(packets=Columns(0).packets(), data=nothing, records=records, others=dict(kinds), damage=damage)


def kinds_of(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """What the records of all parts of a file are, in the order in which a whole file has them."""
    found = {"tcp": 0, "udp": 0}
    for count in counts:
        for kind, number in count.items():
            found[kind] = found.get(kind, 0) + number
    return {kind: number for kind, number in found.items() if number or kind != "udp"}
