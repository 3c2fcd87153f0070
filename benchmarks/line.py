"""What the line delivers of what it is asked and what it costs, beside tc on the same machine in the same run.

    python benchmarks/line.py [--way line|tc|lab ...] [--quick] [--only NAME ...]

line, tc: on the machine's own kernel (tc cannot delay where there is no netem); lab: tc with netem in the lab kernel.
One line for each quantity; bounds are the line's, what tc does is told.  A line that is outside is measured again, at
most three times, as other work on the machine spoils times.  Exit status 1 when one is outside.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from accuracy.table import repeated, status
from accuracy.worker import outside
from line_bench import bias, ceiling, changes, rates, stations, tcp
from line_bench.common import WAYS, Measure, Way

from emulation.kernel import congestion, kernel
from emulation.profile.media import MediumName
from experiments.trial.observers.heartbeat import heartbeat
from experiments.workers.worker import asked
from topologies.star import star

MEASURES: tuple[Measure, ...] = (
    *rates.MEASURES, *bias.MEASURES, *changes.MEASURES, *ceiling.MEASURES, *tcp.MEASURES, *stations.MEASURES,
)  # fmt: skip
_WIDTH = 98
_CONGESTION_CONTROL = "cubic"
_TITLES = {"line": "line", "tc": "tc", "lab": "tc with netem, lab kernel"}


def main() -> int:
    """Measure each way, print, and exit with 1 when a line is outside its bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--way", nargs="*", choices=WAYS, default=WAYS)
    parser.add_argument("--quick", action="store_true", help="fewer rates, sizes and packets")
    parser.add_argument("--only", nargs="*", choices=[one.name for one in MEASURES])
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return work()
    with congestion.allowed({_CONGESTION_CONTROL}):
        found = sum(measured(one, quick=arguments.quick, only=arguments.only) for one in arguments.way)
    return status(found)


def measured(way: Way, *, quick: bool, only: list[str] | None) -> int:
    """Print the table of one way; how many lines are outside."""
    mine = [one.name for one in MEASURES if way in one.ways and (only is None or one.name in only)]
    if not mine:
        return 0
    print(f"\n{_TITLES[way]:<{_WIDTH}} {'asked':>9} {'delivered':>10} {'bound':>20}", flush=True)
    request = {"quick": quick, "only": mine, "way": way}
    return outside("lab" if way == "lab" else "host", __file__, request, width=_WIDTH)


def work() -> int:
    """In the process that measures: what standard input asks for."""
    text, say = asked()
    request = json.loads(text)
    made_by: MediumName = "line" if request["way"] == "line" else "tc"
    worst: tuple[float, str] = (0.0, "nothing")
    # On the host it is allowed by who started this process, as holders are known by their numbers there.
    there = congestion.allowed({_CONGESTION_CONTROL}) if kernel.current() == "lab" else nullcontext()
    with there, heartbeat() as heart, star(stations=2, congestion_control=_CONGESTION_CONTROL) as network:
        for measure in MEASURES:
            if measure.name not in request["only"]:
                continue
            heart.taken()
            began = time.monotonic()
            for part in measure.run(network, made_by, request["quick"]):
                for line, tries in repeated(part):
                    say(json.dumps({"line": line.data(), "tries": tries}))
            worst = max(worst, (heart.taken(), measure.name))
            print(f"{measure.name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    say(json.dumps({"stall_s": worst[0], "during": worst[1]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
