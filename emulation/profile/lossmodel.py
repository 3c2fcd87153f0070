"""Loss models: which packets a link loses.  A model and a seed become a list in emulation.plan.loss."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from emulation.profile.frozen import Frozen
from emulation.profile.units import Probability, Share

MAX_LIST = 1 << 20
Positive = Annotated[Probability, Field(gt=0)]


class GilbertElliott(Frozen):
    """Bursts: a channel of two states, in each of which packets are lost independently (Gilbert 1960, Elliott 1963).

    p: chance, at each packet, to go from the good state to the bad one; r: to come back.  loss_good, loss_bad:
    share lost in each state (1-k and 1-h in the papers).  The first packet meets the good state.
    """

    model: Literal["gilbert-elliott"] = "gilbert-elliott"
    p: Positive
    r: Positive
    loss_good: Share = 0.0
    loss_bad: Positive = 1.0

    @property
    def share(self) -> float:
        """Packets lost in the long run."""
        bad = self.p / (self.p + self.r)
        return bad * self.loss_bad + (1 - bad) * self.loss_good

    def __str__(self) -> str:
        return f"gilbert-elliott p={self.p:g} r={self.r:g} good={self.loss_good:g} bad={self.loss_bad:g}"


class RecordedLosses(Frozen):
    """Losses seen elsewhere: of `packets` packets in a row, those whose numbers (from 0) are in `lost`.

    After `packets` the list begins anew.  In a profile's file `lost` may be the path of a text file with one
    number a line.
    """

    model: Literal["recorded"] = "recorded"
    packets: Annotated[int, Field(ge=2, le=MAX_LIST)]
    lost: tuple[Annotated[int, Field(ge=0)], ...]

    @model_validator(mode="after")
    def _inside(self) -> RecordedLosses:
        if self.lost and max(self.lost) >= self.packets:
            raise ValueError(f"packet {max(self.lost)} is lost, but the record has only {self.packets} packets")
        return self

    @property
    def share(self) -> float:
        """Packets lost of all."""
        return len(set(self.lost)) / self.packets

    def __str__(self) -> str:
        return f"recorded {len(set(self.lost))} of {self.packets}"


def _kind(value: object) -> str:
    if isinstance(value, GilbertElliott | RecordedLosses):
        return value.model
    return str(value.get("model", "without a model")) if isinstance(value, dict) else "bernoulli"


LossModel = Annotated[
    Annotated[Share, Tag("bernoulli")]
    | Annotated[GilbertElliott, Tag("gilbert-elliott")]
    | Annotated[RecordedLosses, Tag("recorded")],
    Discriminator(_kind),
]


def share_of(model: LossModel) -> float:
    """Packets that a model loses in the long run."""
    return model if isinstance(model, float | int) else model.share


def has_memory(model: LossModel) -> bool:
    """Whether a packet's fate depends on that of the packets before it, so that it matters whose those are."""
    return isinstance(model, GilbertElliott | RecordedLosses)


def describe(model: LossModel) -> str:
    """A model in a word or two."""
    return f"bernoulli {model:g}" if isinstance(model, float | int) else str(model)
