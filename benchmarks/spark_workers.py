"""What it costs that workers need have nothing: the archive of what tasks import, and a session that ships it.

    python benchmarks/spark_workers.py

archive: CPU-seconds to make it, its size, and that of what is in it.  present, ship: CPU-seconds from the start to the
end of a session without a job, on a standalone cluster of two workers of one core that is up: driver, Java (what the
cluster's own processes use meanwhile too), Python's workers, and the most memory of one of these.  ship needs root: its
workers share nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "tests" / "support")]

import psutil  # noqa: E402
from common.cpu import Use, counted  # noqa: E402
from spark_servers import BASE_PYTHON, Apart, cluster  # noqa: E402

from analysis.spark.environment import archive  # noqa: E402
from analysis.spark.session import session  # noqa: E402
from analysis.spark.target import Env, Target  # noqa: E402


def archived(folder: Path) -> str:
    """What the archive takes."""
    began = time.process_time()
    path = archive(folder)
    used = time.process_time() - began
    there = folder / "there"
    there.mkdir()
    subprocess.run(["tar", "xzf", path, "-C", there], check=True)
    inside = sum(file.stat().st_size for file in there.rglob("*") if file.is_file())
    return f"archive  {used:6.1f} CPU-s  {path.stat().st_size / 1e6:6.1f} MB, {inside / 1e6:.0f} MB inside"


def used(folder: Path, env: Env) -> tuple[Use, Use]:
    """What has been used before, and at the end of, a session that does nothing but look what its workers have."""
    own, inputs = folder / "own", folder / "inputs"
    for place in (own, inputs):
        place.mkdir(parents=True)
    os.environ["PYSPARK_PYTHON"] = BASE_PYTHON if env is Env.SHIP else sys.executable
    apart = Apart(inputs=inputs, own=own) if env is Env.SHIP else None
    before = Use()
    with cluster(folder, workers=2, apart=apart) as master:
        before.look(psutil.Process())
        with counted() as use, session(master=Target(master=master, env=env), say=print):
            pass
    return before, use


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        print(archived(Path(name)), flush=True)
        for env in Env:
            before, use = used(Path(name) / env, env)
            print(
                f"{env:8} {use.total - before.total:6.1f} CPU-s: driver {use.driver:.1f}, "
                f"Java {use.java - before.java:.1f}, workers {use.workers - before.workers:.1f}; "
                f"{use.worker_peak_bytes / 1e6:.0f} MB of one worker at most",
                flush=True,
            )


if __name__ == "__main__":
    main()
