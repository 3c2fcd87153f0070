"""Where a job runs and what the user chose for it: a master, settings of Spark's, what workers get."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from records.errors import WrongInput

Say = Callable[[str], None]  # what is given a line for the user

# What an option of ours or the program itself decides, and who.
_OURS = {
    "spark.master": "--master says where it runs",
    "spark.submit.deployMode": "the driver is this process",
    "spark.python.daemon.module": "the workers' parent is ours",
    "spark.eventLog.enabled": "--event-log FOLDER writes one",
    "spark.eventLog.dir": "--event-log FOLDER names it",
}


class Env(StrEnum):
    """What workers have of the packages that tasks import: PRESENT there already, or SHIPped with the job."""

    PRESENT = "present"
    SHIP = "ship"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A choice of where and how Spark runs.

    master: as Spark writes it; None = spark-defaults.conf's, the server that SPARK_REMOTE names, or this machine.
    conf: Spark's settings, before all others.  event_log: folder or URI for Spark's event log.
    """

    master: str | None = None
    conf: tuple[tuple[str, str], ...] = ()
    env: Env = Env.PRESENT
    event_log: str | None = None


Where = Target | str | None


def as_target(where: Where) -> Target:
    """A master's name alone is a target with nothing else chosen."""
    return where if isinstance(where, Target) else Target(master=where)


def settings_of(words: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """`KEY=VALUE` of the command line as pairs, the last of a key only.

    Raises WrongInput for what is not of this form, no setting of Spark's, or decided elsewhere.
    """
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        key = key.strip()
        if not equals or not key.startswith("spark.") or key != "".join(key.split()):
            raise WrongInput(f"--conf: {word!r} is not KEY=VALUE of a setting of Spark's (spark.executor.memory=4g)")
        if why := _OURS.get(key):
            raise WrongInput(f"--conf: {key} cannot be set: {why}")
        found[key] = value.strip()
    return tuple(found.items())


def is_ours(key: str) -> bool:
    """Whether a setting is not for the user's files to decide."""
    return key in _OURS and not key.startswith("spark.eventLog.")
