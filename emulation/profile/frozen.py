"""What every part of a profile is: plain, frozen, and an unknown key in it is an error."""

from __future__ import annotations

from pydantic import ConfigDict

from records.written import Written


class Frozen(Written):
    """Base of the records that profile files are made of."""

    model_config = ConfigDict(allow_inf_nan=False)
