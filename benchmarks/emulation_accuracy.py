"""What emulated links deliver of what they are asked, against the bounds that this project promises.

    python benchmarks/emulation_accuracy.py [--kernel host|lab|both] [--quick] [--only NAME...]

One line for each quantity, with its bound.  Exit status 1 when one is outside.  A line that is outside is measured
again, at most three times, because a stall of the machine spoils times; the table says so.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from accuracy import changes, delays, losses, queues, rates, speed, traces
from accuracy.bench import Measure
from accuracy.table import repeated, status
from accuracy.worker import outside

from emulation.kernel import kernel
from experiments.trial.observers.heartbeat import heartbeat
from experiments.workers.worker import asked
from topologies.star import star

MEASURES: tuple[Measure, ...] = (
    *rates.MEASURES, *queues.MEASURES, *delays.MEASURES, *losses.MEASURES, *changes.MEASURES, *traces.MEASURES,
)  # fmt: skip


def main() -> int:
    """Measure on each kernel, print, and exit with 1 when a line is outside its bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", choices=("host", "lab", "both"), default="both")
    parser.add_argument("--quick", action="store_true", help="fewer rates, delays and packets")
    parser.add_argument("--only", nargs="*", choices=["speed", *(one.name for one in MEASURES)])
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return work()
    found = sum(
        measured(one, quick=arguments.quick, only=arguments.only)
        for one in ("host", "lab")
        if arguments.kernel in (one, "both")
    )
    return status(found)


def measured(on: Any, *, quick: bool, only: list[str] | None) -> int:
    """Print the table of one kernel; how many lines are outside."""
    print(f"\n{on} kernel\n{'':<62} {'asked':>9} {'delivered':>10} {'bound':>20}")
    return outside(on, __file__, {"quick": quick, "only": only, "started": time.time()})


def work() -> int:
    """In the process that measures: what standard input asks for."""
    text, say = asked()
    request = json.loads(text)
    worst: tuple[float, str] = (0.0, "nothing")
    with heartbeat() as heart:
        if not request["only"] or "speed" in request["only"]:
            for line in (speed.proven(request["started"]), *speed.built()):
                say(json.dumps({"line": line.data(), "tries": 1}))
        with star(stations=2, congestion_control="reno") as network:
            for measure in MEASURES:
                if kernel.current() not in measure.kernels or (request["only"] and measure.name not in request["only"]):
                    continue
                heart.taken()
                for line, tries in repeated(partial(measure.run, network, request["quick"])):
                    say(json.dumps({"line": line.data(), "tries": tries}))
                worst = max(worst, (heart.taken(), measure.name))
    say(json.dumps({"stall_s": worst[0], "during": worst[1]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
