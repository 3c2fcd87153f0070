"""What every record is: plain and frozen."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Base of all records; an unknown key in a file is an error, not a surprise."""

    model_config = ConfigDict(frozen=True, extra="forbid")
