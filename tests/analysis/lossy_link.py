"""A real lossy TCP transfer between two throwaway network namespaces, captured at the sender's side."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_TRANSFER = """
import socket, sys, threading
role, host, port, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if role == "serve":
    with socket.create_server((host, port)) as server:
        print("ready", flush=True)
        for _ in range(int(sys.argv[5])):
            peer, _ = server.accept()
            def drain(peer=peer):
                got = 0
                while got < size:
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

# Handshakes are spared: tshark times their repetitions in a way of its own.
_LOSS = """table netdev loss {{
  chain drops {{
    type filter hook ingress device {port} priority 0;
    ip protocol tcp tcp flags & syn == 0 numgen inc mod {every} 0 drop
  }}
}}
"""


def run(*command: str, stdin: str | None = None) -> str:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


@contextmanager
def namespace(name: str) -> Iterator[list[str]]:
    run("ip", "netns", "add", name)
    try:
        run("ip", "-n", name, "link", "set", "lo", "up")
        yield ["ip", "netns", "exec", name]
    finally:
        run("ip", "netns", "delete", name)


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
        child.communicate(timeout=20)


def capture_lossy_transfer(path: Path, *, size: int, streams: int, drop_every: int, rate: str) -> Path:
    """Send `streams` times `size` bytes through a link that drops every n-th packet each way; write the capture."""
    tag = f"ax{os.getpid()}"
    with ExitStack() as stack:
        left = stack.enter_context(namespace(f"{tag}a"))
        right = stack.enter_context(namespace(f"{tag}b"))
        run("ip", "link", "add", f"{tag}l", "netns", f"{tag}a", "type", "veth",
            "peer", "name", f"{tag}r", "netns", f"{tag}b")  # fmt: skip
        for number, (side, port) in enumerate(((f"{tag}a", f"{tag}l"), (f"{tag}b", f"{tag}r")), start=1):
            inside = ["ip", "netns", "exec", side]
            run("ip", "-n", side, "address", "add", f"10.99.0.{number}/24", "dev", port)
            run("ip", "-n", side, "link", "set", port, "up")
            run(*inside, "ethtool", "-K", port, "tso", "off", "gso", "off", "gro", "off", "rx", "off", "tx", "off")
            run(*inside, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno")
            run(*inside, "tc", "qdisc", "add", "dev", port, "root", "tbf",
                "rate", rate, "burst", "3200", "limit", "60000")  # fmt: skip
            run(*inside, "nft", "-f", "-", stdin=_LOSS.format(port=port, every=drop_every))
        stack.enter_context(process(
            [*left, "tcpdump", "--time-stamp-precision=nano", "-Z", "root", "-U", "-s", "128",
             "-i", f"{tag}l", "-w", str(path), "tcp"], until="listening on", stream="stderr",
        ))  # fmt: skip
        time.sleep(0.3)  # tcpdump says that it listens a moment before it does
        script = [sys.executable, "-c", _TRANSFER]
        stack.enter_context(process(
            [*right, *script, "serve", "10.99.0.2", "5000", str(size), str(streams)], until="ready", stream="stdout",
        ))  # fmt: skip
        run(*left, *script, "send", "10.99.0.2", "5000", str(size), str(streams))
        time.sleep(0.3)
    return path
