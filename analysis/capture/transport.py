"""TCP and UDP headers, and how much payload follows them."""

from __future__ import annotations

import numpy as np

from analysis.capture.columns import TCP
from analysis.capture.gather import fields, gather
from analysis.capture.kinds import Kind
from analysis.capture.network import Network

TCP_BYTES, UDP_BYTES = 20, 8
_TCP = np.dtype({
    "names": ["sport", "dport", "seq", "ack", "offset", "flags", "window", "udp_length"],
    "formats": [">u2", ">u2", ">u4", ">u4", "u1", "u1", ">u2", ">u2"],
    "offsets": [0, 2, 4, 8, 12, 13, 14, 4], "itemsize": TCP_BYTES,
})  # fmt: skip


def transport(data: np.ndarray, at: np.ndarray, kept: np.ndarray, ip: Network) -> dict[str, np.ndarray]:
    """Columns of TCP and UDP headers at `at`, of which `kept` bytes are there; kind: PACKET where all is well.

    before: bytes of the header.  payload: bytes after it, as the headers say.
    """
    is_tcp = ip["protocol"] == TCP
    least = np.where(is_tcp, TCP_BYTES, UDP_BYTES)
    room = ip["length"] - ip["header"]
    # A short UDP packet may be the last of the file: what is gathered beyond it is zero or is not looked at.
    head = fields(gather(data, at, TCP_BYTES), 0, _TCP)
    before = np.where(is_tcp, (head["offset"] >> 4).astype(np.int64) * 4, UDP_BYTES)
    said = head["udp_length"].astype(np.int64)
    # UDP's own length is 0 in segmentation-offload packets, and that of the whole packet in a first fragment.
    unsaid = is_tcp | (said == 0) | ip["first"]
    payload = np.where(unsaid, room, said) - before
    good = (before >= least) & (payload >= 0) & (unsaid | (said <= room))
    kind = np.where(kept < least, Kind.CUT, np.where(good, Kind.PACKET, Kind.MALFORMED)).astype(np.uint8)
    found = {name: np.where(is_tcp, head[name], 0) for name in ("seq", "ack", "flags", "window")}
    return found | {
        "sport": head["sport"], "dport": head["dport"], "payload": payload, "before": before, "kind": kind,
    }  # fmt: skip
