"""Recording ports: tcpdump, nanosecond pcap, drops counted.

tcpdump gets no file of ours but the capture itself.  Debian and Ubuntu confine it by AppArmor: outside of homes it may
write files that end in .pcap only, inherited ones included, and a log that it may not write to is /dev/null to it.  So
what it says goes through a pipe, which has no name to be refused by, and is written to the log from here.
"""

from __future__ import annotations

import math
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from emulation.kernel.namespace import KernelError, prefix

_LISTENING = "listening on"
_COUNT = re.compile(r"(\d+) packets? (captured|dropped by kernel)")
_START_LIMIT_S = 30.0
_STOP_LIMIT_S = 20.0
# Of all captures together; of one, at most and at least.  The kernel clears all of them before a capture begins.
_KERNEL_BUFFERS_KIB, _MAX_KERNEL_BUFFER_KIB, _MIN_KERNEL_BUFFER_KIB = 262144, 32768, 8192
_LATE_S = 4.0  # so much later than a packet tcpdump may come for it
# A frame of 60 bytes takes 144 there, with the heads of its record and of its address (linux/if_packet.h).
_RECORD = 2.4
# The kernel hands packets over in blocks, at the latest a second after a block's first packet, and a block that
# is not handed over when tcpdump ends is lost.  Handing over every packet by itself (--immediate-mode) takes so
# much of two cores that the default experiment's busiest cell fell from 18,000 to 12,000-15,000 deliveries/s.
SETTLE_S = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tap:
    """An interface in the network namespace of process `pid`; taps recorded together differ in `port`."""

    pid: int
    port: str


@dataclass(slots=True)
class PortCapture:
    """One running tcpdump; packets and dropped are known once it has stopped, None when it would not say.

    log: where what it said is written when it has stopped.  said: what it has said so far.
    """

    port: str
    path: Path
    log: Path
    process: subprocess.Popen[bytes]
    said: str = ""
    packets: int | None = field(default=None)
    dropped: int | None = field(default=None)


@contextmanager
def captured(
    taps: Sequence[Tap], folder: Path, *, logs: Path, snap_bytes: int, rate: float | None = None
) -> Iterator[list[PortCapture]]:
    """Record what passes each of `taps` into <folder>/<port>.pcap while the context lasts.

    The context must not end earlier than SETTLE_S after the last packet that matters.
    logs: a folder for what tcpdump says.  snap_bytes: how much of each packet is kept.  rate: the most that passes a
    tap, bit/s, None = not known.  Counts are filled in when the context ends.
    """
    buffer_kib = kernel_buffer_kib(len(taps), rate)
    with ExitStack() as stack:
        running = []
        for tap in taps:
            running.append(_start(tap, folder, logs, snap_bytes=snap_bytes, buffer_kib=buffer_kib))
            stack.callback(_stop, running[-1])
        deadline = time.monotonic() + _START_LIMIT_S
        for capture in running:
            _wait_until_listening(capture, deadline)
        yield running


def kernel_buffer_kib(taps: int, rate: float | None) -> int:
    """What the kernel keeps for each of so many taps until tcpdump comes for it (KiB): what passes in some seconds."""
    passing = math.inf if rate is None else rate / 8 * _LATE_S * _RECORD / 1024
    wanted = min(max(passing, _MIN_KERNEL_BUFFER_KIB), _MAX_KERNEL_BUFFER_KIB)
    return min(int(wanted), _KERNEL_BUFFERS_KIB // max(taps, 1))


def _start(tap: Tap, folder: Path, logs: Path, *, snap_bytes: int, buffer_kib: int) -> PortCapture:
    port, path = tap.port, folder / f"{tap.port}.pcap"
    command = [
        "tcpdump", "-i", port, "-n", "-s", str(snap_bytes), "-B", str(buffer_kib),
        "--time-stamp-precision=nano", "-Z", "root", "-w", "-",
    ]  # fmt: skip
    # Through standard output: tcpdump as an ordinary user cannot give a file it opens itself its owner.
    with path.open("wb") as out:
        process = subprocess.Popen(
            [*prefix(tap.pid), *command], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE
        )
    return PortCapture(port=port, path=path, log=logs / f"tcpdump-{port}.log", process=process)


def _wait_until_listening(capture: PortCapture, deadline: float) -> None:
    while _LISTENING not in capture.said:
        if not _listen(capture, deadline - time.monotonic()):
            raise KernelError(f"capturing on {capture.port}: {capture.said.strip() or 'tcpdump did not start'}")


def _listen(capture: PortCapture, limit_s: float) -> bool:
    """Take in what tcpdump says next; False when it has ended or has said nothing for so long."""
    assert capture.process.stderr
    pipe = capture.process.stderr.fileno()
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    if not poll.poll(max(limit_s, 0.0) * 1000):
        return False
    data = os.read(pipe, 1 << 16)
    capture.said += data.decode(errors="replace")
    return bool(data)


def _stop(capture: PortCapture) -> None:
    capture.process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + _STOP_LIMIT_S
    while _listen(capture, deadline - time.monotonic()):
        pass  # until it has ended
    try:
        capture.process.wait(max(deadline - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        capture.process.kill()
        capture.process.wait()
    assert capture.process.stderr
    capture.process.stderr.close()
    counts = {match[2]: int(match[1]) for match in _COUNT.finditer(capture.said)}
    capture.packets = counts.get("captured")
    capture.dropped = counts.get("dropped by kernel")
    with suppress(OSError):  # a full disk: who records the trial will say so
        capture.log.write_text(capture.said)
