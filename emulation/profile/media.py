"""What makes a link: the kernel's queueing disciplines, or a medium of our own in user space."""

from __future__ import annotations

from typing import Literal

# tc: htb, netem and nftables.  line: emulation.line.
MediumName = Literal["tc", "line"]
# How a frame comes from one station to another: up to the access point and down again, or directly.
Via = Literal["access-point", "ad-hoc"]
# auto: whatever suits kernel and profile (experiments.workers.kernels).
WantedMedium = Literal["auto", "line", "tc"]
WANTED: tuple[WantedMedium, ...] = ("auto", "line", "tc")
