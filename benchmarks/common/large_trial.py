"""A trial with large captures: what passes the two ends of a medium, between a station and its servers."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path

from synthetic_campaign import Spec, write_campaign

from common.capture import BEGIN_NS, CLIENT, SERVER, write_capture
from records.filenames import MANIFEST
from records.manifest import Capture, ClientSocket, Node
from records.store import Trial, trials, write_record


def write_large_trial(folder: Path, *, packets: int, connections: int = 50) -> Trial:
    """A trial of which each of the two captures has about `packets` packets; its messages are not in them."""
    spec = Spec(trials=1, bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",))
    (trial,) = trials(write_campaign(folder, spec))
    manifest = trial.manifest()
    nodes = [Node(name="sta1", role="station", address=str(IPv4Address(CLIENT)))]
    nodes += [Node(name=f"srv{one}", role="server", address=str(IPv4Address(SERVER + one))) for one in range(7)]
    work = manifest.workload
    producers = tuple(
        one.model_copy(update={"sockets": (ClientSocket(protocol="tcp", port=40000),)}) for one in work.producers
    )
    files = {
        side: write_capture(trial.path / f"{side}.pcap", packets=packets, connections=connections)
        for side in ("station", "wired")
    }
    captures = tuple(
        Capture(
            file=path.name, port=side, side=side, node="sta1" if side == "station" else "srv0", snap_bytes=65535,  # type: ignore[arg-type]
            packets=packets, dropped=0, bytes=path.stat().st_size, sha256="0" * 64,
        )
        for side, path in files.items()
    )  # fmt: skip
    (trial.path / MANIFEST).unlink()
    update = {
        "nodes": tuple(nodes), "captures": captures, "workload": work.model_copy(update={"producers": producers}),
        "clock_offset_ns": BEGIN_NS - manifest.window.start_ns,
    }  # fmt: skip
    write_record(trial.path / MANIFEST, manifest.model_copy(update=update))
    return trial
