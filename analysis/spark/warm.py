"""`python -m analysis.spark.warm [FOLDER]`: make the class archive that shortens every later start of Spark.

The archive (some 170 MB) belongs to one version of Java and Spark on one machine.  Without it, or with one
that does not match, Spark starts all the same, only slower.
"""

from __future__ import annotations

import sys
from pathlib import Path

from analysis.spark.jobs import reduce_trials
from analysis.spark.session import ARCHIVE, session


def make_archive(archive: Path = ARCHIVE) -> Path:
    """Run a small job and keep the classes it loaded in `archive`; an existing archive is replaced."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    fresh = archive.with_name(f".{archive.name}.new")
    with session(master="local[2]", jvm=(f"-XX:ArchiveClassesAtExit={fresh}",)) as spark:
        reduce_trials(spark, [archive.parent / "no-such-trial"] * 2)
    fresh.replace(archive)
    return archive


def main() -> None:
    """Command line entry."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ARCHIVE.parent
    print(f"class archive for Spark: {make_archive(folder / ARCHIVE.name)}")


if __name__ == "__main__":
    main()
