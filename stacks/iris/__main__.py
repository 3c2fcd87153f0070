"""Run a node until it is ended: python -m stacks.iris --host ADDRESS --port PORT --key-file FILE."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from ipaddress import IPv4Network
from pathlib import Path

import uvloop

from records import no_gc
from stacks.iris import memory, relay
from stacks.iris.ids import id_of, written
from stacks.iris.node import Node, Settings, places
from stacks.iris.noise import KEY
from stacks.iris.overlay import BEAT_S, SILENT_S
from stacks.iris.patterns import SPLITS


def _node(settings: Settings, stamps: Path | None) -> Node:
    if stamps is None:
        return Node(settings)
    from records.stamps import Stamps  # noqa: PLC0415 - what it needs imports slowly
    from stacks.iris.stamped import StampedNode  # noqa: PLC0415

    return StampedNode(settings, Stamps(stamps))


async def _serve(settings: Settings, stamps: Path | None) -> int:
    try:
        node = _node(settings, stamps)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{stamps}: cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    try:
        await node.listen()
    except OSError as error:
        print(f"cannot listen: {error.strerror or os.strerror(error.errno or 0)}", file=sys.stderr)
        return 1
    no_gc.off()  # a pause would be measured as the stack's
    memory.keep_freed()
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    print(json.dumps({"listening": settings.port, "node": written(node.own.id)}), flush=True)
    await stop.wait()
    node.close()
    dropped = node.overlay.counts + node.patterns.counts  # without what is for those that have just been cut
    await asyncio.sleep(0.05)  # connections tell that they have ended
    print(json.dumps({"dropped": dropped}), flush=True)
    return 0


def _key(path: Path) -> bytes:
    """ValueError where a file is not 32 bytes in hexadecimal digits."""
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path}: is not a key in hexadecimal digits") from error
    if len(key) != KEY:
        raise ValueError(f"{path}: has a key of {len(key)} bytes, and it has to have {KEY}")
    return key


def main() -> int:
    """Serve; 0 when ended by a signal, 1 when a port cannot be had, 2 on usage."""
    parser = argparse.ArgumentParser(prog="python -m stacks.iris", description=__doc__)
    parser.add_argument("--host", required=True, help="IPv4 address at which other nodes reach this one")
    parser.add_argument("--port", required=True, type=int, help="TCP port for them")
    parser.add_argument("--key-file", required=True, type=Path, help="file with the network's key, in hexadecimal")
    parser.add_argument("--network", default="iris", help="the network's name, which never travels")
    parser.add_argument("--relay-port", type=int, default=relay.PORT, help="TCP port for applications, on loopback")
    parser.add_argument("--peer", action="append", default=[], metavar="PLACE", help="ADDRESS[:PORT] of another node")
    parser.add_argument("--subnet", metavar="ADDRESS/BITS", help="whose hosts are asked whether they are nodes")
    parser.add_argument("--ids", choices=["drawn", "address"], default="drawn", help="where its identifier comes from")
    parser.add_argument("--splits", type=int, default=SPLITS, help="groups that a cluster is split into")
    parser.add_argument("--beat", type=float, default=BEAT_S, help="seconds between two signs of life")
    parser.add_argument("--silent", type=float, default=SILENT_S, help="seconds after which a silent node is given up")
    parser.add_argument(
        "--tunnel", choices=["acked", "direct"], default="acked", help="over the overlay, or connections of their own"
    )
    parser.add_argument("--ack-every", type=int, default=1, help="packets of an acked tunnel to an acknowledgement")
    parser.add_argument("--stamps", type=Path, metavar="FILE", help="where to write when it had which message")
    given = parser.parse_args()
    try:
        settings = Settings(
            address=given.host,
            port=given.port,
            key=_key(given.key_file),
            network=given.network,
            subnet=None if given.subnet is None else IPv4Network(given.subnet, strict=False),
            told=places(given.peer, given.port),
            relay_port=given.relay_port,
            identifier=id_of(given.host) if given.ids == "address" else None,
            splits=given.splits,
            beat_s=given.beat,
            silent_s=given.silent,
            direct=given.tunnel == "direct",
            ack_every=given.ack_every,
        )
    except ValueError as error:
        parser.error(str(error))
    status: int = uvloop.run(_serve(settings, given.stamps))
    return status


if __name__ == "__main__":
    sys.exit(main())
