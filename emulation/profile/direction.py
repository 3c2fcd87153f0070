"""What a link does to the packets of one direction."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from emulation.profile.frozen import Frozen
from emulation.profile.lossmodel import LossModel, share_of
from emulation.profile.units import Rate, Seconds, Share
from records.airtime import airtime

FULL_FRAME = 1514
DEFAULT_QUEUE_BYTES = 150_000
MAX_OVERHEAD_BYTES = 65_535  # struct tc_ratespec has 16 bits for it
_QUEUES = ("queue_bytes", "queue_packets", "queue_time")


class JitterTable(Frozen):
    """A distribution measured elsewhere, in the form of iproute2's .dist files.

    values: quantiles of a distribution of mean 0 and standard deviation 1, times 8192, 16 bits each.  In a
    profile's file they may be the path of such a file.
    """

    name: str = "measured"
    values: Annotated[tuple[Annotated[int, Field(ge=-32768, le=32767)], ...], Field(min_length=2, max_length=16384)]


class DirectionProfile(Frozen):
    """One direction.  Times in seconds, rates in bit/s at layer 2, shares of packets.

    rate: None = unlimited.  frame_overhead: time on the medium that each frame takes beside its bits (preamble,
    contention, acknowledgement).  queue_*: what may wait before the medium, in bytes, packets or time at `rate`
    (150 KB when none is given).  burst_bytes: what may pass at once after a pause (None: as little as the kernel
    can).  loss: see emulation.profile.lossmodel.  delay: one way, beside queueing and transmission.  jitter: half width
    of a uniform distribution around the delay, standard deviation of any other.  keep_order: packets with a shorter
    delay wait for those before them.  reorder: share that does not wait for the delay and so overtakes.
    duplicate: share that arrives twice.  corrupt: share in which a bit is turned over.
    """

    rate: Rate | None = None
    frame_overhead: Annotated[Seconds, Field(le=1)] = 0.0
    queue_bytes: Annotated[int, Field(ge=2 * FULL_FRAME, le=1_000_000_000)] | None = None
    queue_packets: Annotated[int, Field(ge=2, le=1_000_000)] | None = None
    queue_time: Seconds | None = None
    burst_bytes: Annotated[int, Field(ge=FULL_FRAME, le=10_000_000)] | None = None
    loss: LossModel = 0.0
    delay: Seconds = 0.0
    jitter: Seconds = 0.0
    jitter_distribution: Literal["uniform", "normal", "pareto"] | JitterTable = "uniform"
    allow_jitter_beyond_delay: bool = False
    keep_order: bool = True
    reorder: Share = 0.0
    duplicate: Share = 0.0
    corrupt: Share = 0.0

    @model_validator(mode="after")
    def _possible(self) -> DirectionProfile:
        given = [name for name in _QUEUES if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are given: one says how long the queue is")
        needs_rate = [*given, *(name for name in ("frame_overhead", "burst_bytes") if getattr(self, name))]
        if self.rate is None and needs_rate:
            raise ValueError(f"{', '.join(needs_rate)}: without a rate nothing waits; give a rate, or leave it out")
        if self.rate is not None and self.queue_time is not None and self.queue_limit_bytes < 2 * FULL_FRAME:
            raise ValueError(
                f"queue_time {self.queue_time:g} s at {self.rate:g} bit/s is {self.queue_limit_bytes} bytes, and a "
                f"queue must hold two full frames ({2 * FULL_FRAME} bytes)"
            )
        if self.rate is not None and self.frame_overhead * self.rate / 8 > MAX_OVERHEAD_BYTES:
            raise ValueError(
                f"frame_overhead {self.frame_overhead:g} s is {self.frame_overhead * self.rate / 8:.0f} bytes at "
                f"{self.rate:g} bit/s, and the kernel's schedulers know at most {MAX_OVERHEAD_BYTES}: give less of it"
            )
        if self.reorder and not self.delay:
            raise ValueError(f"reorder {self.reorder:g} without delay: packets overtake those that wait; give a delay")
        if self.jitter > self.delay and not self.allow_jitter_beyond_delay:
            raise ValueError(
                f"jitter {self.jitter:g} s is larger than delay {self.delay:g} s, so that part of it would be cut "
                "off: give a larger delay, or say allow_jitter_beyond_delay: true"
            )
        return self

    @property
    def queue_limit_bytes(self) -> int:
        """What may wait before the medium, in bytes; full frames are counted where the limit is in packets."""
        if self.queue_packets is not None:
            return self.queue_packets * FULL_FRAME
        if self.queue_time is not None and self.rate is not None:
            return int(self.queue_time / self.airtime(FULL_FRAME) * FULL_FRAME)
        return DEFAULT_QUEUE_BYTES if self.queue_bytes is None else self.queue_bytes

    @property
    def medium(self) -> tuple[float | None, float, int | None, int, int | None]:
        """What both directions of a shared medium have in common: rate, overhead, bucket, queue."""
        return self.rate, self.frame_overhead, self.burst_bytes, self.queue_limit_bytes, self.queue_packets

    @property
    def loss_share(self) -> float:
        """Packets lost in the long run, by the loss model."""
        return share_of(self.loss)

    @property
    def late(self) -> bool:
        """Whether packets meet anything after the medium and its losses: delay, jitter, copies, damage."""
        return any((self.delay, self.jitter, self.reorder, self.duplicate, self.corrupt))

    def airtime(self, frame_bytes: int) -> float:
        """Seconds that a frame occupies the medium; 0 on an unlimited one."""
        return 0.0 if self.rate is None else float(airtime(frame_bytes, rate=self.rate, overhead=self.frame_overhead))

    def changed(self, settings: dict[str, Any]) -> DirectionProfile:
        """This direction with some settings changed; a queue limit takes the place of one of another kind."""
        data = self.model_dump(exclude_unset=True)
        if any(name in settings for name in _QUEUES):
            data = {key: value for key, value in data.items() if key not in _QUEUES}
        return DirectionProfile.model_validate(data | settings)
