"""Iris beside what was measured of the original, on two nodes of a plain bridge.

    python benchmarks/iris.py [--seconds 4] [--repeats 3] [--quick] [--profile] [--only NAME ...]

Each node is in a namespace of its own with its load, offloads are on, nothing is captured; the callers, connections and
sizes are those that the original was measured with.  The table is Markdown, with medians and the range of the runs.
With --profile there is, below each row, where nodes and loads spend their processor time; that costs some of it.
Exit status 1 when a figure is below the original's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from iris_bench import load, sampling
from iris_bench.load import Plan

from emulation.kernel.namespace import prefix, run_tool, throwaway_namespace
from experiments.workers.isolation import isolated
from stacks.iris import __main__ as node

_RELAY, _PORT, _WARM_S = 55_555, 14_142, 1.0
_KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """original: per second, of requests that are answered or messages that arrive; of `one caller` the median in ms."""

    name: str
    kind: str
    body_bytes: int
    callers: int
    original: float
    both: bool = False
    connections: int = 4
    tunnel: str = "acked"


_TUNNELS = (("64 B", 64, 35_400), ("1 KiB", _KIB, 23_600), ("256 KiB", 256 * _KIB, 542), ("echo 64 B", 64, 38_600))

# The original's figures: node 2015-04 and client 2014-09 on two cores of the same kind, medians of quiet runs.
ROWS = (
    Row(name="requests 64 B", kind="requests", body_bytes=64, callers=32, both=True, original=9_780),
    Row(name="requests 1 KiB", kind="requests", body_bytes=_KIB, callers=32, both=True, original=7_640),
    Row(name="requests 16 KiB", kind="requests", body_bytes=16 * _KIB, callers=16, both=True, original=2_170),
    Row(name="requests 256 KiB", kind="requests", body_bytes=256 * _KIB, callers=8, both=True, original=297),
    Row(name="one caller 64 B", kind="requests", body_bytes=64, callers=1, original=0.31, connections=1),
    Row(name="broadcasts 64 B", kind="broadcasts", body_bytes=64, callers=1, original=49_400, connections=1),
    Row(name="broadcasts 256 KiB", kind="broadcasts", body_bytes=256 * _KIB, callers=1, original=1_007, connections=1),
    *(
        Row(
            name=f"{tunnel} tunnel {name}",
            kind="echo" if "echo" in name else "tunnel",
            body_bytes=size,
            callers=1,
            original=original,
            connections=1,
            tunnel=tunnel,
        )
        for tunnel in ("acked", "direct")
        for name, size, original in _TUNNELS
    ),
)


def main() -> int:
    """Measure, print, and exit with 1 when a figure is below the original's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one run of a second each")
    parser.add_argument("--profile", action="store_true", help="where processor time goes, below each row")
    parser.add_argument("--only", nargs="*", choices=[one.name for one in ROWS])
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--client", help=argparse.SUPPRESS)
    parser.add_argument("--sampled", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--node", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with sampling.sampled(arguments.sampled) if arguments.sampled else nullcontext():
        if arguments.node:
            sys.argv[1:] = arguments.node
            return node.main()
        if arguments.client:
            load.run(arguments.client)
            return 0
    if arguments.quick:
        arguments.seconds, arguments.repeats = 1.0, 1
    if not arguments.worker:
        words = isolated("host", [sys.executable, __file__, *sys.argv[1:], "--worker"])
        return subprocess.run(words, check=False).returncode
    rows = [one for one in ROWS if arguments.only is None or one.name in arguments.only]
    print("| what | of the original | ours | times |\n|---|---:|---:|---:|", flush=True)
    slower = 0
    with _hosts() as hosts, tempfile.TemporaryDirectory(prefix="airwire-") as scratch:
        for row in rows:
            samples = Path(scratch) / row.name if arguments.profile else None
            found = [_measured(row, hosts, arguments.seconds, samples) for _ in range(arguments.repeats)]
            times = [row.original / one if row.name == "one caller 64 B" else one / row.original for one in found]
            slower += median(times) < 1
            print(f"| {row.name} | {row.original:,g} | {_ranged(found)} | {median(times):.2f} |", flush=True)
            if samples is not None:
                print(f"\n{sampling.table(samples)}\n", flush=True)
    return int(bool(slower))


@contextmanager
def _hosts() -> Iterator[tuple[int, int]]:
    """Processes in two network namespaces with 10.99.0.1 and .2 on one bridge, which is in a third."""
    with throwaway_namespace() as middle, throwaway_namespace() as one, throwaway_namespace() as other:
        run_tool(["ip", "link", "add", "plain", "type", "bridge"], pid=middle)
        run_tool(["ip", "link", "set", "plain", "up"], pid=middle)
        for number, pid in enumerate((one, other), 1):
            ends = [f"p{number}", "type", "veth", "peer", "name", "eth", "netns", str(pid)]
            run_tool(["ip", "link", "add", *ends], pid=middle)
            run_tool(["ip", "link", "set", f"p{number}", "master", "plain", "up"], pid=middle)
            run_tool(["ip", "addr", "add", f"10.99.0.{number}/24", "dev", "eth"], pid=pid)
            run_tool(["ip", "link", "set", "eth", "up"], pid=pid)
        yield one, other


def _measured(row: Row, hosts: tuple[int, int], seconds: float, samples: Path | None) -> float:
    """Answers or arrivals per second, at both nodes together; of one caller the median time in ms.

    samples: a folder for where processor time went.
    """
    if samples is not None:
        samples.mkdir(exist_ok=True)
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="airwire-")))
        key = folder / "key"
        key.write_text(bytes(range(32)).hex())
        for number, pid in enumerate(hosts, 1):
            words = ["--host", f"10.99.0.{number}", "--peer", f"10.99.0.{3 - number}", "--tunnel", row.tunnel]
            words += ["--port", str(_PORT), "--key-file", str(key)]
            opened.enter_context(_node(pid, words, samples and samples / f"node-{number}"))
        # The other member of a group of receivers is the sender's own connection, as it was for the original.
        names = ("one", "one") if row.kind == "broadcasts" else ("one", "other")
        loads = [
            opened.enter_context(
                _load(
                    pid,
                    samples and samples / f"load-{number}",
                    Plan(
                        kind=row.kind,
                        relay=_RELAY,
                        own=names[number],
                        other=names[1 - number],
                        sends=row.both or number == 0,
                        body_bytes=row.body_bytes,
                        callers=row.callers,
                        connections=row.connections,
                    ),
                )
            )
            for number, pid in enumerate(hosts)
        ]
        for one in loads:
            one.heard()
        for one in loads:
            one.tell("go")
        time.sleep(_WARM_S)
        before = [one.look() for one in loads]
        time.sleep(seconds)
        after = [one.look() for one in loads]
    if row.name == "one caller 64 B":
        return median(after[0]["took_s"]) * 1e3
    if row.kind == "echo":
        after, before = after[:1], before[:1]  # there and back is two messages
    rate = sum(
        (now["done"] - then["done"]) / (now["at_s"] - then["at_s"]) for now, then in zip(after, before, strict=True)
    )
    return 2 * rate if row.kind == "echo" else rate


class _Load:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def tell(self, word: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def heard(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a load has ended with status {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def look(self) -> dict[str, Any]:
        self.tell("look")
        return self.heard()


@contextmanager
def _load(pid: int, sampled: Path | None, plan: Plan) -> Iterator[_Load]:
    with _process(pid, ["--client", json.dumps(asdict(plan))], sampled) as process:
        yield _Load(process)
        if sampled:  # it ends with its standard input, and then writes what was seen
            process.communicate()


@contextmanager
def _node(pid: int, words: Sequence[str], sampled: Path | None) -> Iterator[None]:
    with _process(pid, ["--node", *words], sampled) as process:
        assert process.stdout
        process.stdout.readline()
        yield
        if sampled:
            process.terminate()
            process.communicate()


@contextmanager
def _process(pid: int, words: Sequence[str], sampled: Path | None) -> Iterator[subprocess.Popen[str]]:
    sampling_words = ["--sampled", str(sampled)] if sampled else []
    words = [*prefix(pid), sys.executable, __file__, *sampling_words, *words]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _ranged(values: Sequence[float]) -> str:
    low, middle, high = (f"{one:,.0f}" if one >= 1000 else f"{one:.3g}" for one in _spread(values))
    return f"{middle} ({low} to {high})"


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
    return min(values), median(values), max(values)


if __name__ == "__main__":
    sys.exit(main())
