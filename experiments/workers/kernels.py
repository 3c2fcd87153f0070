"""Which kernel a trial runs on, and which medium makes its link there.

The machine's own kernel when that can do what the link needs, else the lab kernel, where tc makes every link.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeVar

from emulation import labkernel
from emulation.line import ceiling
from emulation.line.ceiling import Load
from emulation.link import features
from emulation.plan.stages import Feature
from emulation.profile.media import MediumName, WantedMedium
from emulation.profile.profile import LinkProfile
from experiments.workers.place import Place
from records.errors import CannotGoOn

Wanted = Literal["auto", "host", "lab"]
WANTED: tuple[Wanted, ...] = ("auto", "host", "lab")
Loads = tuple[Load, ...]
W = TypeVar("W", bound=str)
NOT_IN_THE_LAB = "the line runs on the machine's own kernel, as root; in the lab kernel tc and netem make every link"
# What the lab kernel has is the same everywhere (Debian's user-mode-linux 6.1): everything.
_LAB_FEATURES = dict.fromkeys(Feature, "")


class NotPossible(CannotGoOn):
    """This machine, as it is, cannot do what is asked; the message says what is missing and what brings it."""


@dataclass(frozen=True)
class Kernels:
    """The kernels of this machine, asked once.  wanted, medium: the user's choice.

    `auto` prefers the machine's own kernel, and there what suits it (`_media`).
    """

    wanted: Wanted = "auto"
    medium: WantedMedium = "auto"
    _chosen: dict[tuple[str, WantedMedium, Wanted, str], Place] = field(default_factory=dict)

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

    def why_not_host(self, profile: LinkProfile, *, stations: int, medium: MediumName = "tc") -> str:
        """Why a medium cannot make a profile's link for so many stations on this machine's kernel, '' when it can."""
        return self._why_not_host(profile, (Load(profile, stations),), medium)

    def choose(
        self,
        profile: LinkProfile,
        *,
        stations: int,
        medium: WantedMedium = "auto",
        kernel: Wanted = "auto",
        carried: Sequence[Load] = (),
    ) -> Place:
        """The kernel and the medium for a profile and so many stations; NotPossible says why there is none.

        medium, kernel: what the scenario wants.  carried: where the trial has several links, all that the line would
        have to carry.
        """
        loads = tuple(carried) or (Load(profile, stations),)
        key = profile.model_dump_json(), medium, kernel, repr(loads)
        if key not in self._chosen:
            on = _agreed("kernel", self.wanted, kernel, profile)
            by = _agreed("medium", self.medium, medium, profile)
            self._chosen[key] = self._choose(profile, loads, by, on)
        return self._chosen[key]

    def medium_on_host(self, profile: LinkProfile, *, stations: int) -> MediumName:
        """What `auto` would have make a profile's link on the machine's own kernel; the best, where none can."""
        loads = (Load(profile, stations),)
        media = self._media("auto", loads)
        return next((one for one in media if not self._why_not_host(profile, loads, one)), media[0])

    def _why_not_host(self, profile: LinkProfile, loads: Loads, medium: MediumName) -> str:
        if os.geteuid():
            return "this machine's own kernel builds networks for root only: run the same command as root (sudo)"
        if why := features.missing(profile, self.host_features, "host", medium, **_asked(loads)):
            return f"this machine's own kernel ({os.uname().release}) {why}"
        return ceiling.why_not(*loads) if medium == "line" else ""

    def why_not_lab(self, profile: LinkProfile, loads: Loads = ()) -> str:
        """Why the lab kernel cannot do a profile, as one of these links or by itself, '' when it can."""
        if self.no_lab:
            return self.no_lab
        why = features.missing(profile, _LAB_FEATURES, "lab", "tc", **_asked(loads))
        return f"the lab kernel ({labkernel.release()}) {why}" if why else ""

    def _choose(self, profile: LinkProfile, loads: Loads, wanted: WantedMedium, kernel: Wanted) -> Place:
        reasons: dict[str, None] = {}
        if kernel != "lab":
            for medium in self._media(wanted, loads):
                if not (why := self._why_not_host(profile, loads, medium)):
                    return Place("host", medium)
                reasons[why] = None
        if kernel != "host":
            why = NOT_IN_THE_LAB if wanted == "line" else self.why_not_lab(profile, loads)
            if not why:
                return Place("lab", "tc")
            reasons[why] = None
        reasons |= dict.fromkeys(self._ways_out(profile, loads, wanted, kernel))
        raise NotPossible(f"profile {profile.name!r}: " + "; ".join(reasons))

    def _media(self, wanted: WantedMedium, loads: Loads) -> tuple[MediumName, ...]:
        """What may make a link on the machine's own kernel, the best first.

        With netem tc does all that a profile asks, without it frames do not even take their transmission time: then
        the line comes before what is left of tc, unless it would take most of a core from the trial's own processes.
        """
        if wanted != "auto":
            return (wanted,)
        line_first = self.host_features[Feature.NETEM] and not ceiling.is_heavy(*loads)
        return ("line", "tc") if line_first else ("tc", "line")

    def _ways_out(self, profile: LinkProfile, loads: Loads, wanted: WantedMedium, kernel: Wanted) -> Iterator[str]:
        """What else the command line could ask for; what a scenario insists on, its author has chosen."""
        other: MediumName = "tc" if wanted == "line" else "line"
        insists = wanted == self.medium != "auto" and kernel != "lab"
        if insists and not self._why_not_host(profile, loads, other):
            yield f"{'the line' if other == 'line' else 'tc'} could: run with --medium {other}"
        if kernel == self.wanted == "host" and wanted != "line" and not self.why_not_lab(profile, loads):
            yield "the lab kernel could: run with --kernel lab"


def _asked(loads: Loads) -> dict[str, bool]:
    """What these links are for, as features.missing takes it."""
    return {"group_frames": any(one.group_frames for one in loads), "between": any(one.between for one in loads)}


def _agreed(option: str, mine: W, asked: W, profile: LinkProfile) -> W:
    """What command line and scenario want together."""
    if asked == "auto" or mine in ("auto", asked):
        return mine if asked == "auto" else asked
    raise NotPossible(
        f"profile {profile.name!r}: --{option} {mine}, but the scenario says {option}: {asked}; leave one of them out"
    )
