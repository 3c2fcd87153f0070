"""A machine that others use, too: what they take of it is measured and told, and makes no trial invalid."""

from __future__ import annotations

import os
from collections.abc import Mapping

from records.errors import WrongInput

VARIABLE = "AIRWIRE_SHARED_MACHINE"


class NeitherYesNorNo(WrongInput):
    """The variable has a value that means nothing; the message says which ones do."""


def shared_machine(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the user says so (`1`).  Raises NeitherYesNorNo."""
    said = environment.get(VARIABLE, "")
    if said not in ("", "0", "1"):
        raise NeitherYesNorNo(
            f"{VARIABLE}={said}: say 1 when others use this machine, too; 0, or nothing, when they do not"
        )
    return said == "1"
