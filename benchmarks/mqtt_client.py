"""Our MQTT client beside paho-mqtt and aiomqtt, and our codec alone.

    python benchmarks/mqtt_client.py [--seconds 2] [--repeats 5] [--version 5|3.1.1] [--only codec|clients]

A publisher and a subscriber are on two stations of a star with wireline-1g, Mosquitto on its server.  All clients take
turns in every repeat, so that ratios are of neighbours in time.  The tables are Markdown; one says where the time of a
message of ours goes.  Exit status 1 when ours is slower than another, a message takes more of it than of the broker, or
the codec is slower than its target.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mqtt_bench import codec, process
from mqtt_bench.libraries import LIBRARIES
from mqtt_bench.runs import CONGESTION_CONTROL, PROFILE, Run, laboratory

from emulation.kernel import congestion
from experiments.workers.isolation import isolated

BODY_BYTES, WINDOW = 100, 100
CODEC_PER_S, AS_FAST, WANTED = 500_000, 1.0, 3.0
_COLUMNS = ("publisher", "subscriber", "broker")


def main() -> int:
    """Measure, print, and exit with 1 when a target that must be met is not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--version", choices=("3.1.1", "5"), default="5")
    parser.add_argument("--only", choices=("codec", "clients"))
    parser.add_argument("--worker", metavar="FOLDER", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--client", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.seconds <= 0 or arguments.repeats < 1:
        parser.error(f"--seconds {arguments.seconds:g} --repeats {arguments.repeats}: both are more than 0")
    if arguments.client:
        process.run(arguments.client)
    if arguments.worker:
        return clients(arguments)
    met = arguments.only == "clients" or codecs(arguments.repeats)
    if arguments.only != "codec":
        with congestion.allowed({CONGESTION_CONTROL}), tempfile.TemporaryDirectory(prefix="airwire-") as folder:
            words = isolated("host", [sys.executable, __file__, *sys.argv[1:], "--worker", folder])
            met = subprocess.run(words, check=False).returncode == 0 and met
    return 0 if met else 1


def codecs(repeats: int) -> bool:
    """Print the codec's table; whether it is fast enough."""
    found = {name: [codec.packets_per_s(number, body_bytes=BODY_BYTES) for _ in range(repeats)]
             for name, number in (("3.1.1", 4), ("5", 5))}  # fmt: skip
    _row(f"codec, QoS 0, {BODY_BYTES} bytes", "packets per second and core, written and read",
         f"target {CODEC_PER_S:,}")  # fmt: skip
    _row(*["---"] * 3)
    for name, runs in found.items():
        _row(f"MQTT {name}", _ranged(runs, "{:,.0f}".format), _met(median(runs), CODEC_PER_S))
    return all(median(runs) >= CODEC_PER_S for runs in found.values())


def clients(arguments: argparse.Namespace) -> int:
    """In the process that measures: print the clients' tables; 1 when ours is slower, or takes more than the broker."""
    runs: dict[tuple[int, str], list[Run]] = {(qos, name): [] for qos in (0, 1) for name in LIBRARIES}
    with laboratory(arguments.worker, program=__file__, window=WINDOW, version=arguments.version,
                    body_bytes=BODY_BYTES) as one:  # fmt: skip
        costs = {qos: one.costs("ours", qos=qos, seconds=arguments.seconds / 2) for qos in (0, 1)}
        for repeat in range(arguments.repeats):
            print(f"repeat {repeat + 1} of {arguments.repeats}", file=sys.stderr)
            for qos, name in _turned(list(runs), repeat):
                runs[qos, name].append(one.run(name, qos=qos, seconds=arguments.seconds))
    print(f"\nMQTT {arguments.version}, {BODY_BYTES} bytes, window {WINDOW} (QoS 1), {PROFILE}, {arguments.repeats} "
          f"runs of {arguments.seconds:g} s each in turn: median (lowest to highest)\n")  # fmt: skip
    _row("QoS", "client", "messages/s, arrived", "of those sent",
         *(f"CPU-s for 100,000: {name}" for name in _COLUMNS),
         *(f"share of a core: {name}" for name in _COLUMNS), "busy, all cores", "takes most")  # fmt: skip
    _row(*["---"] * 12)
    for (qos, name), mine in runs.items():
        _row(str(qos), name, *_told(mine))
    print()
    _row("QoS", "ours, for a message", "µs of its own", "µs in the kernel", "system calls")
    _row(*["---"] * 5)
    for qos, processes in costs.items():
        for name, cost in processes.items():
            _row(str(qos), name, f"{cost.own_s * 1e6:.1f}", f"{cost.kernel_s * 1e6:.1f}", cost.told)
    print()
    broker_first = all(_takes_most(runs[qos, "ours"]) == "broker" for qos in (0, 1))
    print(f"A message takes more of the broker than of our clients: {'met' if broker_first else '**missed**'}\n")
    return int(not (_ratios(runs) and broker_first))


def _ratios(runs: dict[tuple[int, str], list[Run]]) -> bool:
    """Print how many times as fast ours is; whether it is at least as fast as each."""
    slower = 0
    _row("QoS", "ours against", "messages/s: times", "at least as fast", f"target {WANTED:g} times",
         "messages per CPU-second of both clients: times")  # fmt: skip
    _row(*["---"] * 6)
    for (qos, name), others in runs.items():
        if name != "ours":
            pairs = list(zip(runs[qos, "ours"], others, strict=True))
            times = [mine.subscriber.messages / other.subscriber.messages for mine, other in pairs]
            slower += median(times) < AS_FAST
            _row(str(qos), name, _ranged(times, "{:.2f}".format), _met(median(times), AS_FAST),
                 _met(median(times), WANTED),
                 _ranged([_clients_cpu_s(other) / _clients_cpu_s(mine) for mine, other in pairs], "{:.1f}".format),
            )  # fmt: skip
    return not slower


def _clients_cpu_s(run: Run) -> float:
    return run.cpu_s("publisher") + run.cpu_s("subscriber")


def _told(runs: Sequence[Run]) -> Iterable[str]:
    def typical(value: Callable[[Run], float]) -> float:
        return median(map(value, runs))

    yield _ranged([run.subscriber.messages for run in runs], "{:,.0f}".format)
    yield f"{typical(lambda run: run.subscriber.messages / run.publisher.messages):.0%}"
    yield from (f"{cost:.2f}" for cost in _costs(runs).values())
    yield from (f"{typical(lambda run, name=name: getattr(run, name).share):.0%}" for name in _COLUMNS)
    yield f"{typical(lambda run: run.machine.share) / (psutil.cpu_count() or 1):.0%}"
    yield _takes_most(runs)


def _costs(runs: Sequence[Run]) -> dict[str, float]:
    return {name: median(run.cpu_s(name) for run in runs) for name in _COLUMNS}


def _takes_most(runs: Sequence[Run]) -> str:
    """Which takes most processor time for a message: whose core is full first, where each has one."""
    costs = _costs(runs)
    return max(costs, key=costs.__getitem__)


def _turned(what: list[tuple[int, str]], by: int) -> list[tuple[int, str]]:
    """The same list, beginning elsewhere."""
    by %= len(what)
    return what[by:] + what[:by]


def _ranged(values: Sequence[float], written: Callable[[float], str]) -> str:
    return f"{written(median(values))} ({written(min(values))} to {written(max(values))})"


def _met(value: float, target: float) -> str:
    return "met" if value >= target else "**missed**"


def _row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
