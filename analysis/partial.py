"""Parts of a trial's analysis: one that fails is marked with the reason, and takes nothing of the others with it.

A trial counts when its records and its ledger can be read (records.counting): what captures and journeys add may be
missing.  A record or ledger that cannot be read is damage, and its trial does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import pyarrow as pa

from analysis.rows import Rows
from records.location import Unreachable
from records.publishing import NotPublished
from records.store import DamagedTrial

PARTIAL = "partial"
MEASURES = "measures."  # begins the names of the parts that modules of analysis/measures are
# What reading a folder that somebody damaged may raise; the name of anything else is said too: it is a mistake of ours.
DAMAGE = (DamagedTrial, OSError, ValueError, ArithmeticError, LookupError, pa.ArrowException)


def said(error: Exception) -> str:
    """Why a part failed, for readers."""
    text = str(error)
    if not text:
        return type(error).__name__
    return text if isinstance(error, DAMAGE) else f"{type(error).__name__}: {text}"


def must_see(folder: Path) -> None:
    """Unreachable where a task does not see a folder of the machine that sent it."""
    if not folder.is_dir():
        raise Unreachable(f"{folder}: there is no such folder where this task runs: workers have to see it")


def is_of_the_machine(error: Exception) -> bool:
    """Whether what could not be read may be whole: a folder that is not seen here, say, or a full table of files.

    Arrow's errors about a file's content are OSErrors too, without a number.
    """
    if isinstance(error, Unreachable | NotPublished):
        return True
    cause = error if isinstance(error, OSError) else error.__cause__
    return isinstance(cause, OSError) and cause.errno is not None and not isinstance(cause, FileNotFoundError)


def part(
    name: str, rows: Rows, work: Callable[[Rows], None], *, table: str = PARTIAL, without: Collection[str] = ()
) -> bool:
    """Add what `work` adds to the rows it is given; when it fails, nothing of it but one row, and False.

    table: `partial` where the trial counts without this part, `damage` where it does not.  without: tables of whose
    rows none is taken.
    """
    mine = Rows(rows.trial)
    try:
        work(mine)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other parts stand
        rows.add(table, name, text=said(error))
        return False
    rows.take(mine, without=without)
    return True
