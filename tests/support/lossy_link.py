"""A real lossy TCP transfer between two throwaway network namespaces, captured at one side."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from emulation.kernel.namespace import prefix, throwaway_namespace

_TRANSFER = """
import socket, sys, threading, time
role, host, port, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
pause = float(sys.argv[6])
if role == "serve":
    with socket.create_server((host, port)) as server:
        print("ready", flush=True)
        for _ in range(int(sys.argv[5])):
            peer, _ = server.accept()
            def drain(peer=peer):
                got, stop = 0, 0
                while got < size:
                    if got >= stop:
                        time.sleep(pause)
                        stop += 500_000
                    got += len(peer.recv(65536))
                peer.sendall(b"done")
                peer.close()
            threading.Thread(target=drain).start()
else:
    def send():
        with socket.create_connection((host, port)) as peer:
            peer.sendall(bytes(size))
            peer.recv(4)
    threads = [threading.Thread(target=send) for _ in range(int(sys.argv[5]))]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""

_LOSS = """table netdev loss {{
  chain drops {{
    type filter hook ingress device wire priority 0;
    ip protocol tcp {which} numgen {how} mod {every} 0 drop
  }}
}}
"""
_DETOUR = """table inet detour {{
  chain out {{
    type filter hook output priority 0;
    ip protocol tcp numgen inc mod {every} 0 meta priority set 1:2
  }}
}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What the transfer goes through, both ways alike.

    drop_every: one packet in so many is lost, in turn or (scattered) at random; the handshake is spared when
    asked.  detour_every: one in so many goes the slow way and is overtaken.  pause: seconds that the
    receiver waits before each half megabyte.  side: where the capture is made.
    """

    rate: str = "20mbit"
    drop_every: int = 29
    scattered: bool = False
    spare_handshake: bool = True
    detour_every: int | None = None
    sack: bool = True
    pause: float = 0.0
    side: Literal["sender", "receiver"] = "sender"


def run(*command: str, stdin: str | None = None) -> str:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


@contextmanager
def process(command: list[str], *, until: str, stream: str) -> Iterator[subprocess.Popen[str]]:
    """A child that has said `until` on one of its streams; interrupted and waited for on the way out."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        lines = child.stdout if stream == "stdout" else child.stderr
        assert lines is not None
        for line in lines:
            if until in line:
                break
        yield child
    finally:
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=120)


def capture_lossy_transfer(path: Path, *, size: int, streams: int, link: Link, snap: int = 128) -> Path:
    """Send `streams` times `size` bytes through the link; write the capture."""
    with ExitStack() as stack:
        pids = {side: stack.enter_context(throwaway_namespace()) for side in ("sender", "receiver")}
        left, right = (prefix(pid) for pid in pids.values())
        run(*left, "ip", "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", str(pids["receiver"]))
        for number, inside in enumerate((left, right), start=1):
            _set_up(inside, address=f"10.99.0.{number}/24", link=link)
        listen = ["tcpdump", "--time-stamp-precision=nano", "--immediate-mode", "-B", "16384", "-Z", "root", "-U"]
        listen += ["-s", str(snap), "-i", "wire", "-w", str(path), "tcp"]
        stack.enter_context(process([*prefix(pids[link.side]), *listen], until="listening on", stream="stderr"))
        time.sleep(0.3)  # tcpdump says that it listens a moment before it does
        script = [sys.executable, "-c", _TRANSFER]
        what = ["10.99.0.2", "5000", str(size), str(streams), str(link.pause)]
        stack.enter_context(process([*right, *script, "serve", *what], until="ready", stream="stdout"))
        run(*left, *script, "send", *what)
        time.sleep(0.3)
    return path


def _set_up(inside: list[str], *, address: str, link: Link) -> None:
    run(*inside, "ip", "address", "add", address, "dev", "wire")
    run(*inside, "ip", "link", "set", "wire", "up")
    run(*inside, "ethtool", "-K", "wire", "tso", "off", "gso", "off", "gro", "off", "rx", "off", "tx", "off")
    run(*inside, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno", f"net.ipv4.tcp_sack={int(link.sack)}")
    bucket = ["burst", "3200", "limit", "60000"]
    if link.detour_every is None:
        run(*inside, "tc", "qdisc", "add", "dev", "wire", "root", "tbf", "rate", link.rate, *bucket)
    else:
        run(*inside, "tc", "qdisc", "add", "dev", "wire", "root", "handle", "1:", "htb", "default", "1")
        for minor, rate in (("1", link.rate), ("2", "2mbit")):
            run(*inside, "tc", "class", "add", "dev", "wire", "parent", "1:", "classid", f"1:{minor}",
                "htb", "rate", rate, "burst", "3200", "cburst", "3200")  # fmt: skip
        run(*inside, "nft", "-f", "-", stdin=_DETOUR.format(every=link.detour_every))
    which = "tcp flags & syn == 0" if link.spare_handshake else ""
    how = "random" if link.scattered else "inc"
    run(*inside, "nft", "-f", "-", stdin=_LOSS.format(every=link.drop_every, which=which, how=how))
