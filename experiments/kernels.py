"""Which kernel a trial runs on: the machine's own when that can do what the link needs, else the lab kernel."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from emulation import features, labkernel
from emulation.kernel import KernelName
from emulation.profile import LinkProfile
from emulation.stages import Feature

Wanted = Literal["auto", "host", "lab"]
WANTED: tuple[Wanted, ...] = ("auto", "host", "lab")
# What the lab kernel has is the same everywhere (Debian's user-mode-linux 6.1): everything.
_LAB_FEATURES = dict.fromkeys(Feature, "")


class NotPossible(Exception):
    """This machine, as it is, cannot do what is asked; the message says what is missing and what brings it."""


@dataclass(frozen=True)
class Kernels:
    """The kernels of this machine, asked once.  wanted: the user's choice; `auto` prefers the machine's own."""

    wanted: Wanted = "auto"
    _chosen: dict[str, KernelName] = field(default_factory=dict)

    @cached_property
    def host_features(self) -> dict[Feature, str]:
        """What the machine's own kernel can do for this user."""
        return features.probe()

    @cached_property
    def lab(self) -> labkernel.Boot:
        """What came of booting the lab kernel.  Takes a second, so it is asked when the answer matters."""
        return labkernel.check()

    @cached_property
    def no_lab(self) -> str:
        """Why there is no lab kernel here, '' when there is one.

        While others have every core nothing speaks against it: a trial waits for its core, and says if it fails.
        """
        untroubled = self.lab.outcome in (labkernel.Outcome.BOOTS, labkernel.Outcome.UNTRIED)
        return "" if untroubled else self.lab.why

    def why_not_host(self, profile: LinkProfile) -> str:
        """Why the machine's own kernel cannot do a profile, '' when it can."""
        if os.geteuid():
            return "this machine's own kernel builds networks for root only: run the same command as root (sudo)"
        why = features.missing(profile, self.host_features, "host")
        return f"this machine's own kernel ({os.uname().release}) {why}" if why else ""

    def why_not_lab(self, profile: LinkProfile) -> str:
        """Why the lab kernel cannot do a profile, '' when it can."""
        if self.no_lab:
            return self.no_lab
        why = features.missing(profile, _LAB_FEATURES, "lab")
        return f"the lab kernel ({labkernel.release()}) {why}" if why else ""

    def choose(self, profile: LinkProfile) -> KernelName:
        """The kernel for a profile; NotPossible says why there is none."""
        if (key := profile.model_dump_json()) not in self._chosen:
            self._chosen[key] = self._choose(profile)
        return self._chosen[key]

    def _choose(self, profile: LinkProfile) -> KernelName:
        reasons = []
        if self.wanted != "lab":
            if not (why := self.why_not_host(profile)):
                return "host"
            reasons.append(why)
        if self.wanted != "host":
            if not (why := self.why_not_lab(profile)):
                return "lab"
            reasons.append(why)
        if self.wanted == "host" and not self.why_not_lab(profile):
            reasons.append("the lab kernel could: run with --kernel lab")
        raise NotPossible(f"profile {profile.name!r}: " + "; ".join(reasons))
