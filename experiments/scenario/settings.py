"""What one cell of a scenario says, checked: every list of the file has been replaced by one of its levels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BeforeValidator,
    Field,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from emulation.plan.stages import GROUP_FRAMES
from emulation.profile.media import WantedMedium
from experiments.scenario.repeats import Repeats, SideBySide
from records.manifest import CapturePoint
from records.nodes import NodeEvent
from records.sending import time_s
from records.verdict import Check
from records.workload import AnyWorkload, Command, Pattern, PubSub
from records.written import Written
from stacks import registry
from stacks.absent import NONE, NoStack
from stacks.driver import Stack
from stacks.knobs import KnobValue
from stacks.reference.faults import Fault, parse
from stacks.reference.struck import harmless
from topologies.kinds.star import Star
from topologies.topology import Topology
from topologies.topology import parse as topology_of

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$")]


def _named(stack: object) -> object:
    if stack is None:
        raise ValueError('the word null is nothing in YAML: write "null" in quotes, or leave the key out')
    return stack


class WindowSettings(Written):
    """Seconds.  drain_s is the most that is waited for messages under way after the window."""

    warmup_s: time_s(0, 3600) = 1.0  # type: ignore[valid-type]
    window_s: time_s(1, 86_400) = 10.0  # type: ignore[valid-type]
    drain_s: time_s(0, 3600) = 5.0  # type: ignore[valid-type]


CAPTURE_POINTS: tuple[CapturePoint, ...] = get_args(CapturePoint)


class CaptureSettings(Written):
    """snap_bytes: how much of each packet is kept.  points: at which ports, some of `station, wired, client, server`.

    What is left out of these two is chosen by the link's rate, see experiments.trial.capturing.  keep_mb: captures of a
    trial that are larger than this together do not stay, once their packets and drops are counted; left out, all stay.
    keep_every: of every so many trials only the first one's captures stay (1 and 4 with 3); all are recorded, so that
    recording costs every trial the same.  enabled: false (`capture: off`) records nothing.
    """

    enabled: bool = True
    snap_bytes: Annotated[int, Field(ge=64, le=65_535)] | None = None
    points: tuple[CapturePoint, ...] | None = None
    keep_mb: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | None = None
    keep_every: Annotated[int, Field(ge=1, le=1000)] = 1

    @model_validator(mode="before")
    @classmethod
    def _a_word_is_enough(cls, value: Any) -> Any:
        """YAML reads `off` as false, unless it stands in quotes."""
        if value is False or value == "off":
            return {"enabled": False}
        if value is True or value == "on":
            return {}
        if not isinstance(value, dict | CaptureSettings):
            raise ValueError(f"either off, or a mapping of {', '.join(cls.model_fields)}")
        return value

    @model_validator(mode="after")
    def _nothing_is_said_of_no_captures(self) -> CaptureSettings:
        if not self.enabled and ((self.snap_bytes, self.points, self.keep_mb) != (None,) * 3 or self.keep_every > 1):
            raise ValueError("nothing is captured (off), so nothing else can be said of captures: leave that out")
        return self

    @field_validator("points", mode="before")
    @classmethod
    def _words(cls, value: object) -> object:
        """A scenario gives words: a list would be a factor."""
        words = value.replace(",", " ").split() if isinstance(value, str) else value
        if isinstance(words, list | tuple) and (not words or not set(words) <= set(CAPTURE_POINTS)):
            raise ValueError(f"points are one or more of {', '.join(CAPTURE_POINTS)}")
        return words


class Waiver(Written):
    """A health check that may fail: which, in which cells (factor to level, as printed), and why."""

    check: Check
    when: dict[str, str] = Field(default={})
    because: Annotated[str, Field(min_length=10)]


class CheckSettings(Written):
    """limits may only be tighter than the defaults of experiments.scenario.limits."""

    limits: dict[Check, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(default={})
    waive: tuple[Waiver, ...] = ()


def _tcp_sysctls(value: object) -> object:
    """Names and values as sysctl(8) takes them: only TCP's, which a network namespace has for itself."""
    if not isinstance(value, dict):
        return {} if value is None else value
    for name, number in value.items():
        if not _TCP_SYSCTL.fullmatch(str(name)):
            raise ValueError(f"{name!r}: a setting of TCP is meant, such as net.ipv4.tcp_recovery")
        if name == "net.ipv4.tcp_congestion_control":
            raise ValueError(f"{name}: say congestion_control, the scenario's own key")
        if isinstance(number, bool) or not _NUMBERS.fullmatch(str(number)):
            raise ValueError(f"{name}: {number!r} is no number, and not several with spaces between them")
    return {name: str(number) for name, number in value.items()}


REFERENCES = ("reference", "reference-peers")
_TCP_SYSCTL = re.compile(r"net\.ipv4\.tcp_[a-z0-9_]{1,40}")
_NUMBERS = re.compile(r"-?\d{1,12}( \d{1,12}){0,3}")
TcpSysctls = Annotated[dict[str, str], BeforeValidator(_tcp_sysctls)]


def _printed(value: object) -> object:
    """A number is a level as it is printed."""
    return str(value) if isinstance(value, int | float) else value


Level = Annotated[str | None, BeforeValidator(_printed)]

# What is not said where no choice was made, as before there was one: digests of scenarios stay what they were.
_LEFT_OUT: tuple[tuple[str, object], ...] = (
    ("kernel", "auto"),
    ("medium", "auto"),
    ("compare", None),
    ("repeat_spoiled", 2),
    ("topology", Star().model_dump(mode="json")),
    ("nodes", []),
    ("knobs", {}),
    ("group_frames", False),
    ("station_cores", None),
)


class Settings(Written):
    """One cell.  connect: whether clients connect over the link that they will use, or `bare`, before it is applied.

    compare: the factor whose levels are compared.  baseline: the level that the others are held against.
    repeat_spoiled: how often a trial that the machine alone can have spoiled is run again before it stands as it is.
    kernel, medium: where the link is and what makes it; `auto` leaves it to the machine (experiments.workers.kernels).
    topology: what shape the network has; `network` is the profile of the medium that stations hang on.
    station_cores: how much of a core the processes of a station may use together, its client and its services; left
    out, all share all processors.
    group_frames: whether the stack sends frames to a group (broadcast, multicast), which the line alone carries as a
    medium does: a shared air has each once, whoever hears it.
    nodes: what happens to nodes in the window, as experiments.scenario.nodes allows.
    knobs: what is set of stacks, by their names; of those that a cell does not use, nothing holds.
    """

    scenario: Name
    question: str = ""
    network: str
    kernel: Literal["auto", "host", "lab"] = "auto"
    medium: WantedMedium = "auto"
    compare: str | None = None
    baseline: Level = None
    stations: Annotated[int, Field(ge=1, le=250)] = 1
    station_cores: Annotated[float, Field(ge=0.01, le=64, allow_inf_nan=False)] | None = None
    group_frames: bool = False
    topology: Annotated[SerializeAsAny[Topology], BeforeValidator(topology_of)] = Star()
    stack: Annotated[str, BeforeValidator(_named)] = "activemq"
    knobs: dict[str, dict[str, KnobValue]] = Field(default={})
    faults: dict[Fault, str | int] = Field(default={})
    congestion_control: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,15}$")] = "cubic"
    sysctls: TcpSysctls = Field(default={})
    connect: Literal["link", "bare"] = "link"
    workload: AnyWorkload
    window: WindowSettings = WindowSettings()
    nodes: tuple[NodeEvent, ...] = ()
    capture: CaptureSettings = CaptureSettings()
    trials: Repeats = Repeats()
    parallel: SideBySide = SideBySide()
    repeat_spoiled: Annotated[int, Field(ge=0, le=10)] = 2
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 1
    checks: CheckSettings = CheckSettings()

    @model_validator(mode="before")
    @classmethod
    def _programs_have_no_stack(cls, data: Any) -> Any:
        """What cannot be said beside programs is refused in experiments.scenario.programs, with its line."""
        work = data.get("workload") if isinstance(data, Mapping) else None
        pattern = work.get("pattern") if isinstance(work, Mapping) else getattr(work, "pattern", None)
        return {"stack": NONE, **data} if pattern == Pattern.COMMAND else data

    @model_validator(mode="after")
    def _faults_belong_to_the_reference_stack(self) -> Settings:
        if self.faults and self.stack not in REFERENCES:
            raise ValueError(f"faults can be switched on in {' and '.join(REFERENCES)} only, not in {self.stack!r}")
        parse(self.fault_words())
        return self

    @model_validator(mode="after")
    def _faults_can_happen(self) -> Settings:
        work = self.workload
        for fault in self.faults:
            if not isinstance(work, Command) and (why := harmless(fault, work)):
                raise ValueError(f"faults.{fault}: {why}")
        return self

    @model_validator(mode="after")
    def _the_line_is_on_the_machines_own_kernel(self) -> Settings:
        if (self.kernel, self.medium) == ("lab", "line"):
            raise ValueError("kernel lab with medium line: the line runs on the machine's own kernel, as root")
        return self

    @model_validator(mode="after")
    def _frames_to_a_group_need_the_line(self) -> Settings:
        if self.group_frames and (self.medium == "tc" or self.kernel == "lab"):
            asked = "medium: tc" if self.medium == "tc" else "kernel: lab, where tc makes every link"
            raise ValueError(f"group_frames: true with {asked}: {GROUP_FRAMES}, on the machine's own kernel")
        return self

    @model_validator(mode="after")
    def _a_station_has_its_share_where_groups_are_made(self) -> Settings:
        if self.station_cores is not None and (self.kernel == "lab" or isinstance(self.workload, Command)):
            beside = "kernel: lab" if self.kernel == "lab" else "a workload of programs"
            raise ValueError(f"station_cores with {beside}: shares are of this machine's processors, for messages")
        return self

    @model_validator(mode="after")
    def _two_stations_to_be_apart(self) -> Settings:
        clients = self.workload.clients
        if self.stations < clients.least_stations:
            raise ValueError(
                clients.WORDS.fill("workload.clients.apart: {senders} and {receivers} need stations: ")
                + f"{clients.least_stations} or more to be apart"
            )
        return self

    @model_validator(mode="after")
    def _subscribers_come_back_inside_the_window(self) -> Settings:
        away = self.workload.away if isinstance(self.workload, PubSub) else None
        if away is not None and away.at_s + away.lasts_s >= self.window.window_s:
            raise ValueError(
                f"workload.away: subscribers would come back {away.at_s + away.lasts_s:g} s into the window, which "
                f"lasts {self.window.window_s:g} s: make it longer, or let them leave earlier"
            )
        return self

    @model_serializer(mode="wrap")
    def _as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        return {key: value for key, value in data.items() if (key, value) not in _LEFT_OUT}

    def driver(self) -> Stack:
        """The stack's driver, set as the scenario says; errors as of stacks.registry.get."""
        if isinstance(self.workload, Command):
            return NoStack()
        return registry.get(self.stack, self.knobs.get(self.stack, {}))

    def fault_words(self) -> list[str]:
        """The faults as the reference broker takes them."""
        return [f"{name}={value}" for name, value in self.faults.items()]


def from_campaign(data: Mapping[str, Any]) -> Settings:
    """A cell's settings as its campaign has kept them; ValidationError for those that this version does not know.

    Campaigns from before there was a choice connected their clients bare, and go on so.
    """
    return Settings.model_validate({"connect": "bare", **data})
