"""Before a job on a cluster: do its workers have what tasks import, in versions that give the same results?"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analysis.spark.errors import SparkFailed
from analysis.spark.needs import needed
from analysis.spark.target import Env, Say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PYTHON = "Python"
_ROWS, _ROUNDS = 2048, 5
_SHOWN = 6
_OTHER_PYTHON = re.compile(r"different version: (\d+\.\d+)")
_HOST = re.compile(r"\(TID \d+\) \((\S+) executor")
_NO_PYTHON = re.compile(r'Cannot run program "([^"]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """What one executor has.  place: its folder.  versions: of the modules, by name; '' what cannot be imported."""

    host: str
    place: str
    python: str
    versions: dict[str, str]


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Finding:
    """A worker that has something else than is wanted.  refused: results might not be the same, or there are none."""

    host: str
    python: str
    what: str
    wanted: str
    found: str
    refused: bool

    def __str__(self) -> str:
        return f"worker {self.host} ({self.python}): {self.what}: wanted {self.wanted}, found {self.found or 'none'}"


def findings(wanted: dict[str, str], workers: Sequence[Worker]) -> list[Finding]:
    """What the workers lack of `wanted` (version by name), or have in other versions; each once for a host.

    What is kept of a reduction says by which versions of libraries it was made (analysis.reductions.code), so workers
    have those that are here.
    """
    found = {
        Finding(host=worker.host, python=worker.python, what=name, wanted=version, found=theirs,
                refused=name != PYTHON or not theirs or _minor(theirs) != _minor(version))
        for worker in workers
        for name, version in wanted.items()
        if (theirs := worker.versions.get(name, "")) != version
    }  # fmt: skip
    return sorted(found)


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]


def check(spark: SparkSession, *, env: Env, say: Say) -> None:
    """Compare what the session's workers have with what is here; `say` takes what differs and does no harm.

    Raises SparkFailed for workers that lack something, have another version of it, or another minor one of Python.
    Looked at are those that take part until a round of tasks meets no new one.
    """
    wanted = {PYTHON: platform.python_version()} | {one.module: one.version for one in needed()}
    all_found = findings(wanted, _workers(spark, tuple(wanted)[1:]))
    if refused := [str(one) for one in all_found if one.refused]:
        raise SparkFailed(f"{_listed(refused)}\n{_way_out(env)}")
    if told := [str(one) for one in all_found]:
        say(_listed(told))


def _listed(lines: Sequence[str]) -> str:
    left = len(lines) - _SHOWN
    return "\n".join((*lines[:_SHOWN], *([f"and {left} more"] if left > 0 else ())))


def _way_out(env: Env) -> str:
    if env is Env.SHIP:
        return "what --env ship sends does not fit these workers: they need this platform and this minor Python version"
    return "`--env ship` sends them with the job; or install them there; PYSPARK_PYTHON names the Python that has them"


def _workers(spark: SparkSession, modules: tuple[str, ...]) -> list[Worker]:
    """The executors, each once: looked for until a round finds no other, as those of a cluster come one by one."""
    found: dict[tuple[str, str], Worker] = {}
    for _ in range(_ROUNDS):
        before = len(found)
        for worker in _seen(spark, modules):
            found[worker.host, worker.place] = worker
        if before and len(found) == before:
            break
    return list(found.values())


def _seen(spark: SparkSession, modules: tuple[str, ...]) -> Iterator[Worker]:
    from pyspark.errors import PySparkException  # noqa: PLC0415 - imports slowly
    from pyspark.sql.functions import udf  # noqa: PLC0415

    told: list[bool] = []  # each task has one of its own

    def look(_row: int) -> str | None:
        """What this task's Python has, once.  Workers may lack everything but Spark: no module of ours is used."""
        if told:
            return None
        told.append(True)
        import importlib  # noqa: PLC0415
        import json  # noqa: PLC0415
        import os  # noqa: PLC0415
        import platform  # noqa: PLC0415
        import sys  # noqa: PLC0415

        versions = {"Python": platform.python_version()}
        for name in modules:
            try:
                versions[name] = str(importlib.import_module(name).__version__)
            except Exception:  # noqa: BLE001 - whatever it is, tasks cannot import it
                versions[name] = ""
        about = {"host": platform.node(), "place": os.getcwd(), "python": sys.executable, "versions": versions}
        return json.dumps(about)

    frame: Any = spark.range(_ROWS)  # as many tasks as there are cores
    # By Arrow workers would need pyarrow to say that they lack it.  What may give something else each time is called
    # once for a row: the filter has no Python of its own, which would import everything too.
    column: Any = udf(look, "string", useArrow=False).asNondeterministic()("id")
    try:
        rows = frame.select(column.alias("told")).where("told is not null").collect()
    except PySparkException as error:
        if why := explained(str(error)):
            raise SparkFailed(why) from error
        raise  # it is not about what workers have: whoever started the session says it
    for row in rows:
        yield Worker(**json.loads(row["told"]))


def explained(error: str) -> str:
    """What an error says of the workers' Python; '' when it is about something else."""
    if none := _NO_PYTHON.search(error):
        return f"workers have no Python at {none[1]}; PYSPARK_PYTHON says where theirs is"
    if other := _OTHER_PYTHON.search(error):
        host = _HOST.search(error)
        found = Finding(
            host=host[1] if host else "unknown", python="its Python", what=PYTHON, wanted=platform.python_version(),
            found=other[1], refused=True,
        )  # fmt: skip
        return f"{found}\nPYSPARK_PYTHON names a Python of the workers that is of the version wanted"
    return ""
