"""What makes a link: the kernel's queueing disciplines, or a medium of our own in user space."""

from __future__ import annotations

from typing import Literal

# tc: htb, netem and nftables.  line: emulation.line.
MediumName = Literal["tc", "line"]
# auto: whatever suits kernel and profile (experiments.kernels).
WantedMedium = Literal["auto", "line", "tc"]
WANTED: tuple[WantedMedium, ...] = ("auto", "line", "tc")
