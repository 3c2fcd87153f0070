"""Which finished trials count: one definition for the stopping rule, which runs trials, and for the report.

Valid by its verdict, and records and ledger can be read.  What captures add has no say.
"""

from __future__ import annotations

import hashlib

import pyarrow as pa

from records.filenames import MANIFEST
from records.manifest import Manifest
from records.packed import PACKED, REDUCED
from records.schema import TABLES
from records.store import DamagedTrial, Trial
from records.verdict import State


def read_tables(trial: Trial, manifest: Manifest) -> dict[str, pa.Table]:
    """The trial's tables by name; DamagedTrial when one cannot be read, or contradicts the manifest."""
    window = manifest.window
    if window.end_ns <= window.start_ns:
        raise DamagedTrial(
            f"{trial.path / MANIFEST}: the window ends at {window.end_ns} ns, not after {window.start_ns}"
        )
    tables = {name: trial.table(name) for name in TABLES}
    for name, table in tables.items():
        if table.num_rows != manifest.rows.get(name, table.num_rows):
            raise DamagedTrial(
                f"{trial.path / name}.parquet: {table.num_rows} rows, the manifest says {manifest.rows[name]}"
            )
    return tables


def read_reduction(trial: Trial) -> bytes:
    """The reduction of a trial that came out of a pack; DamagedTrial, OSError when it is not the one it came with."""
    path, packed = trial.path / REDUCED, trial.packed()
    content = path.read_bytes()
    if packed is None or hashlib.sha256(content).hexdigest() != packed.reduced_sha256:
        raise DamagedTrial(f"{path}: it is not the file that {PACKED} says; unpack the campaign again")
    return content


def counts(trial: Trial) -> bool:
    """Whether a finished trial's figures count."""
    try:
        manifest = trial.manifest()
        trial.link()
        if trial.verdict().state is not State.VALID:
            return False
        if trial.elsewhere():
            read_reduction(trial)
        else:
            read_tables(trial, manifest)
    except (DamagedTrial, OSError):
        return False
    return True
