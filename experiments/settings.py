"""What one cell of a scenario says, checked: every list of the file has been replaced by one of its levels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from emulation.media import WantedMedium
from emulation.units import parse_time
from experiments.load.protocol import LARGEST_BODY_BYTES
from experiments.repeats import Repeats, SideBySide
from results.manifest import CapturePoint
from results.marker import SIZE as MARKER_BYTES
from results.verdict import Check
from stacks.driver import Ack, BodyType, Delivery, Guarantee
from stacks.reference.faults import parse

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$")]
Count = Annotated[int, Field(ge=1, le=10_000)]
_LARGEST_IN_FIELDS = 1 << 20  # 50 MB in each client process


def _seconds(low: float, high: float) -> object:
    return Annotated[float, BeforeValidator(parse_time), Field(ge=low, le=high, allow_inf_nan=False)]


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Clients(_Settings):
    """How many publishers, subscribers and topics; each client has its own connection.

    Client number i uses topic i mod topics and sits on station i mod stations.  apart: publishers spread so over the
    first half of the stations, subscribers over the others.
    """

    publishers: Count
    subscribers: Count
    topics: Count = 1
    apart: bool = False

    @model_validator(mode="after")
    def _every_topic_has_a_publisher(self) -> Clients:
        if self.topics > self.publishers:
            raise ValueError(
                f"{self.topics} topics cannot be filled by {self.publishers} publishers, each of which has one "
                f"topic: at most {self.publishers} topics"
            )
        return self


class Promise(_Settings):
    """subscription: durable ones outlive their connection.  delivery: persistent = on disk before the answer."""

    subscription: Literal["durable", "nondurable"] = "nondurable"
    delivery: Delivery = Delivery.NONPERSISTENT


class SelectorSettings(_Settings):
    """Publishers draw a property from 0..of-1; subscribers want the messages whose property is in [low, high)."""

    low: Annotated[int, Field(ge=0)]
    high: Annotated[int, Field(ge=1)]
    of: Annotated[int, Field(ge=1, le=1_000_000)] = 100

    @model_validator(mode="after")
    def _range_is_not_empty(self) -> SelectorSettings:
        if not self.low < self.high <= self.of:
            raise ValueError(f"the range [{self.low}, {self.high}) is empty or leaves 0..{self.of - 1}")
        return self


_ACKS = {Ack.AUTO: Guarantee.ACK_AUTO, Ack.DUPS_OK: Guarantee.ACK_DUPS_OK, Ack.CLIENT: Guarantee.ACK_CLIENT}


class AwaySettings(_Settings):
    """Every subscriber's connection is cut at_s into the window, without a word, and made again lasts_s later."""

    at_s: _seconds(0, 86_400)  # type: ignore[valid-type]
    lasts_s: _seconds(0.1, 86_400)  # type: ignore[valid-type]


class WorkloadSettings(_Settings):
    """rate: messages per second and publisher, in an open loop only.

    acknowledge_every: with ack `client`, how many messages a subscriber has before it acknowledges them.
    receive: a listener is called with each message, `sync` asks for one after the other.
    prefetch: how many messages may be under way to a subscriber; left out, the stack's own choice.
    memory_limit_mb: how many MB the provider holds in memory for subscribers that are behind; left out, the default of
    the stack's role (ActiveMQ: 4).
    when_full: what the provider does with a send for which it has no space: the publisher waits for its answer, or is
    refused and sends again.
    """

    clients: Clients
    body_bytes: Annotated[int, Field(ge=MARKER_BYTES, le=LARGEST_BODY_BYTES)]
    guarantee: Promise = Promise()
    body_type: BodyType = BodyType.BYTES
    ack: Ack = Ack.AUTO
    acknowledge_every: Count = 10
    receive: Literal["listener", "sync"] = "listener"
    prefetch: Annotated[int, Field(ge=0, le=32_766)] | None = None
    memory_limit_mb: Annotated[float, Field(ge=0.05, le=16_384, allow_inf_nan=False)] | None = None
    when_full: Literal["wait", "refuse"] = "wait"
    loop: Literal["closed", "open"] = "closed"
    rate: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = None
    selector: SelectorSettings | None = None
    away: AwaySettings | None = None

    @model_validator(mode="after")
    def _a_rate_belongs_to_an_open_loop(self) -> WorkloadSettings:
        if (self.loop == "open") != (self.rate is not None):
            raise ValueError("loop 'open' needs a rate (messages/s per publisher), and only an open loop has one")
        return self

    @model_validator(mode="after")
    def _fields_of_a_body_are_kept(self) -> WorkloadSettings:
        if self.body_type in (BodyType.STREAM, BodyType.MAP) and self.body_bytes > _LARGEST_IN_FIELDS:
            raise ValueError(
                f"body_type {self.body_type.value}: at most {_LARGEST_IN_FIELDS} bytes: it has a field for each 8"
            )
        return self

    @model_validator(mode="after")
    def _a_listener_needs_a_prefetch(self) -> WorkloadSettings:
        if self.prefetch == 0 and self.receive == "listener":
            raise ValueError("prefetch 0 asks for single messages, which only receive: sync does")
        return self

    def guarantees(self) -> frozenset[Guarantee]:
        """What the stack must be able to promise."""
        wanted = {
            Guarantee.DURABLE: self.guarantee.subscription == "durable",
            Guarantee.PERSISTENT: self.guarantee.delivery is Delivery.PERSISTENT,
            Guarantee.SELECTOR: self.selector is not None,
            Guarantee.SYNC_RECEIVE: self.receive == "sync",
            Guarantee.PREFETCH: self.prefetch is not None,
            Guarantee.BODY_TYPES: self.body_type is not BodyType.BYTES,
            Guarantee.REFUSAL: self.when_full == "refuse",
            Guarantee.MEMORY_LIMIT: self.memory_limit_mb is not None,
        }
        return frozenset({_ACKS[self.ack], *(one for one, asked in wanted.items() if asked)})


class WindowSettings(_Settings):
    """Seconds.  drain_s is the most that is waited for messages under way after the window."""

    warmup_s: _seconds(0, 3600) = 1.0  # type: ignore[valid-type]
    window_s: _seconds(1, 86_400) = 10.0  # type: ignore[valid-type]
    drain_s: _seconds(0, 3600) = 5.0  # type: ignore[valid-type]


CAPTURE_POINTS: tuple[CapturePoint, ...] = get_args(CapturePoint)


class CaptureSettings(_Settings):
    """snap_bytes: how much of each packet is kept.  points: at which ports, some of `station, wired, client, server`.

    What is left out of these two is chosen by the link's rate, see experiments.capturing.  keep_mb: captures of a trial
    that are larger than this together do not stay, once their packets and drops are counted; left out, all stay.
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


class Waiver(_Settings):
    """A health check that may fail: which, in which cells (factor to level, as printed), and why."""

    check: Check
    when: dict[str, str] = {}
    because: Annotated[str, Field(min_length=10)]


class CheckSettings(_Settings):
    """limits may only be tighter than the defaults of experiments.health."""

    limits: dict[Check, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = {}
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


_TCP_SYSCTL = re.compile(r"net\.ipv4\.tcp_[a-z0-9_]{1,40}")
_NUMBERS = re.compile(r"-?\d{1,12}( \d{1,12}){0,3}")
TcpSysctls = Annotated[dict[str, str], BeforeValidator(_tcp_sysctls)]


# What is not said where no choice was made, as before there was one: digests of scenarios stay what they were.
_LEFT_OUT = (("kernel", "auto"), ("medium", "auto"))


class Settings(_Settings):
    """One cell.  connect: whether clients connect over the link that they will use, or `bare`, before it is applied.

    kernel, medium: where the link is and what makes it; `auto` leaves it to the machine (experiments.kernels).
    """

    scenario: Name
    question: str = ""
    network: str
    kernel: Literal["auto", "host", "lab"] = "auto"
    medium: WantedMedium = "auto"
    baseline: str | None = None
    stations: Annotated[int, Field(ge=1, le=250)] = 1
    stack: str = "activemq"
    faults: dict[Literal["drop", "duplicate", "reorder", "stall", "crash"], str | int] = {}
    congestion_control: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,15}$")] = "cubic"
    sysctls: TcpSysctls = {}
    connect: Literal["link", "bare"] = "link"
    workload: WorkloadSettings
    window: WindowSettings = WindowSettings()
    capture: CaptureSettings = CaptureSettings()
    trials: Repeats = Repeats()
    parallel: SideBySide = SideBySide()
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 1
    checks: CheckSettings = CheckSettings()

    @model_validator(mode="after")
    def _faults_belong_to_the_reference_stack(self) -> Settings:
        if self.faults and self.stack != "reference":
            raise ValueError(f"faults can be switched on in stack 'reference' only, not in {self.stack!r}")
        parse(self.fault_words())
        return self

    @model_validator(mode="after")
    def _the_line_is_on_the_machines_own_kernel(self) -> Settings:
        if (self.kernel, self.medium) == ("lab", "line"):
            raise ValueError("kernel lab with medium line: the line runs on the machine's own kernel, as root")
        return self

    @model_validator(mode="after")
    def _two_stations_to_be_apart(self) -> Settings:
        if self.workload.clients.apart and self.stations < 2:
            raise ValueError("workload.clients.apart: publishers and subscribers need stations: 2 or more to be apart")
        return self

    @model_validator(mode="after")
    def _subscribers_come_back_inside_the_window(self) -> Settings:
        away = self.workload.away
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

    def fault_words(self) -> list[str]:
        """The faults as the reference broker takes them."""
        return [f"{name}={value}" for name, value in self.faults.items()]


def from_campaign(data: Mapping[str, Any]) -> Settings:
    """A cell's settings as its campaign has kept them; ValidationError for those that this version does not know.

    Campaigns from before there was a choice connected their clients bare, and go on so.
    """
    return Settings.model_validate({"connect": "bare", **data})
