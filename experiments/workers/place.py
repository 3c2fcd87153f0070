"""Where a link is: on which kernel, and by which medium."""

from __future__ import annotations

from dataclasses import dataclass

from emulation.kernel.kernel import KernelName
from emulation.profile.media import MediumName

_WORDS: dict[tuple[KernelName, MediumName], str] = {
    ("host", "tc"): "the machine's own kernel",
    ("host", "line"): "the line",
    ("lab", "tc"): "the lab kernel",
}


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """kernel: the machine's own or the lab kernel.  medium: what makes the link there."""

    kernel: KernelName = "host"
    medium: MediumName = "tc"

    @property
    def text(self) -> str:
        """What emulates links there, in words."""
        return _WORDS[self.kernel, self.medium]
