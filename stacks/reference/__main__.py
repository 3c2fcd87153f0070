"""Run the reference broker until it is ended: python -m stacks.reference --host ADDRESS --port PORT."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import ssl
import sys
from pathlib import Path
from typing import get_args

from records import no_gc
from stacks.driver import Tls
from stacks.reference.faults import USAGE, FaultError, Faults, parse
from stacks.reference.server import listen
from stacks.tls import serving


async def _serve(host: str, port: int, faults: Faults, tls: ssl.SSLContext | None) -> int:
    try:
        server = await listen(host=host, port=port, faults=faults, tls=tls)
    except OSError as error:
        print(f"cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}", file=sys.stderr)
        return 1
    no_gc.off()  # a pause would be measured as the stack's
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    print(json.dumps({"listening": server.sockets[0].getsockname()[1]}), flush=True)
    await stop.wait()
    server.close()
    return 0


def main() -> int:
    """Serve; 0 when ended by a signal, 1 when the port cannot be had, 2 on usage."""
    parser = argparse.ArgumentParser(prog="python -m stacks.reference", description=__doc__)
    parser.add_argument("--host", required=True, help="address to listen on")
    parser.add_argument("--port", required=True, type=int, help="TCP port, 0 for any free one")
    parser.add_argument("--fault", action="append", default=[], metavar="WORD", help=USAGE)
    parser.add_argument("--tls", default="off", choices=get_args(Tls), help="version of TLS to speak")
    parser.add_argument("--tls-folder", type=Path, metavar="FOLDER", help="where server.pem and server.key are")
    arguments = parser.parse_args()
    if arguments.tls != "off" and arguments.tls_folder is None:
        parser.error(f"--tls {arguments.tls} takes a certificate: say --tls-folder")
    try:
        faults = parse(arguments.fault)
        tls = serving(arguments.tls, arguments.tls_folder)
    except FaultError as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"--tls-folder {arguments.tls_folder}: no server.pem with its server.key: {error.strerror}")
    return asyncio.run(_serve(arguments.host, arguments.port, faults, tls))


if __name__ == "__main__":
    sys.exit(main())
