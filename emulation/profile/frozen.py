"""What every part of a profile is: plain, frozen, and an unknown key in it is an error."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Base of the records that profile files are made of."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
