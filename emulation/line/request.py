"""What is said between a trial and its line's process, a line of JSON each way."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from emulation.line.lateness import Lateness
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.media import Via
from emulation.profile.profile import LinkProfile


class Request(BaseModel):
    """A link for the line's process.  pid: in the access point's namespace.

    macs: station to MAC address, as hexadecimal digits, in the order of their ports.  via, group_frames: as in
    a LinkPlan.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: LinkProfile
    stations: tuple[str, ...]
    seed: int
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    timeline_s: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    pid: Annotated[int, Field(gt=0)]
    macs: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]]
    via: Via = "access-point"
    group_frames: bool = False

    @model_validator(mode="after")
    def _one_each(self) -> Request:
        if self.stations != tuple(self.macs) or not self.macs:
            raise ValueError(f"macs: of {', '.join(self.macs) or 'no station'}, and not of each station in its order")
        if len(set(self.macs.values())) < len(self.macs):
            raise ValueError("macs: two stations have the same")
        return self

    @classmethod
    def of(cls, plan: LinkPlan, *, pid: int, macs: dict[str, str]) -> Request:
        """What to tell for a plan."""
        return cls(
            profile=plan.profile,
            stations=tuple(macs),
            seed=plan.seed,
            seconds=plan.seconds,
            timeline_s=plan.timeline_s,
            pid=pid,
            macs={name: mac.replace(":", "") for name, mac in macs.items()},
            via=plan.via,
            group_frames=plan.group_frames,
        )

    def plan(self) -> LinkPlan:
        """The plan, made again: `Ready.lists` tells whether it is the same."""
        return linkplan.plan(
            self.profile,
            self.stations,
            seed=self.seed,
            seconds=self.seconds,
            timeline_s=self.timeline_s,
            made_by="line",
            via=self.via,
            group_frames=self.group_frames,
        )


class Answer(BaseModel):
    """error: why what was asked for was not done, '' when it was."""

    error: str = ""


class Ready(Answer):
    """The answer to a request: there is a device for every port of the link.

    lists: the digests of the lists of losses, by name.  awake: whether
    the kernel could be asked that processors do not sleep deeply.
    """

    lists: dict[str, str] = {}
    awake: bool = False


class Counts(Answer):
    """What the medium has counted.

    queues: of each, frames and bytes that have left it, frames that found it full, and bytes that wait.  losses: of
    each list, packets that met it and those that it dropped.  dark: packets of each list that an outage took.
    read: frames of each direction that have come, none of which waits to be read.
    """

    t_ns: int
    queues: dict[str, tuple[int, int, int, int]]
    losses: dict[str, tuple[int, int]]
    dark: dict[str, int]
    read: dict[str, int]


class Late(Answer):
    """How late frames of all links were given out since the last question, and what else went wrong.

    buckets, beats: of frames and of beats, see lateness.Lateness; worst_ns, worst_beat_ns: the latest of each.
    Of the links that there are, since each was made: refused: frames that a port did not take.  too_large: frames above
    the MTU, the largest of `largest` bytes.  wakes: how often the loop slept since the process began.
    """

    buckets: list[tuple[int, int]]
    worst_ns: int
    beats: list[tuple[int, int]]
    worst_beat_ns: int
    refused: int
    too_large: int
    largest: int
    wakes: int

    @property
    def frames(self) -> Lateness:
        """How late frames were given out."""
        return Lateness.of(self.buckets, self.worst_ns)

    @property
    def reading(self) -> Lateness:
        """How late the line was with reading, by its beats."""
        return Lateness.of(self.beats, self.worst_beat_ns)


class Steps(Answer):
    """Steps of the timeline that are in force, by number, and the moment of each (CLOCK_MONOTONIC, ns)."""

    played: list[tuple[int, int]]
