"""What verbs with --master understand of where and how Spark is to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.options import PRESENT

if TYPE_CHECKING:
    from analysis.spark.target import Target


def chosen(*, master: str | None, conf: list[str] | None, env: str, event_log: str | None) -> Target | None:
    """The options' target, None where nothing is chosen: then small work is done without Spark.  Raises WrongInput."""
    from analysis.spark.target import Env, Target, settings_of  # noqa: PLC0415 - imports slowly
    from records.errors import WrongInput  # noqa: PLC0415

    if env not in set(Env):
        raise WrongInput(f"--env: {env!r} is not one of {', '.join(Env)}")
    if master is None and not conf and event_log is None and env == PRESENT:
        return None
    return Target(master=master, conf=settings_of(conf or ()), env=Env(env), event_log=event_log)
