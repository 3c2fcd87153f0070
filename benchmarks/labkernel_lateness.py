"""How late a lab kernel's timers are beside busy processes: where it goes before them, and where it does not.

    python benchmarks/labkernel_lateness.py [--busy N]

16 processes by default, each in a session of its own, that never wait.  Beside them a lab kernel on the last core of
this process, which it has before all others, then one on the first core, which it shares; each sleeps 400 times 5 ms.
Prints how much later than that it wakes: median and 99th percentile, and the ratio of the latter.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from emulation.labkernel.cores import goes_first

ROOT = Path(__file__).resolve().parents[1]
SLEEPS, SLEEP_S = 400, 0.005
_SLEEPER = f"""
import json, time
late = []
for _ in range({SLEEPS}):
    began = time.monotonic()
    time.sleep({SLEEP_S})
    late.append(time.monotonic() - began - {SLEEP_S})
print(json.dumps(late))
"""


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that use a processor whenever they get one, while the context lasts."""
    started = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True) for _ in range(count)
    ]
    try:
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


def lateness_ms(core: int) -> np.ndarray:
    """How late each sleep in a lab kernel on a core has ended.  subprocess.CalledProcessError: it has failed."""
    words = [sys.executable, "-m", "emulation.labkernel", "--cpu", str(core), "--", sys.executable, "-c", _SLEEPER]
    said = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    return 1e3 * np.array(json.loads(said))


def main() -> int:
    parser = argparse.ArgumentParser(description="How late a lab kernel's timers are.")
    parser.add_argument("--busy", type=int, default=16, metavar="N", help="processes that never wait")
    options = parser.parse_args()
    mine = sorted(os.sched_getaffinity(0))
    if len(mine) < 2:
        print("one core: a lab kernel goes before others on every core but the first", file=sys.stderr)
        return 2
    high = []
    with busy(options.busy):
        time.sleep(1)
        for core in (mine[-1], mine[0]):
            late = lateness_ms(core)
            high.append(np.percentile(late, 99))
            place = "before all others" if goes_first(core) else "shared"
            print(f"core {core}, {place}: {np.median(late):.2f} ms late, 99th percentile {high[-1]:.2f}")
    print(f"99th percentiles, shared / before all others: {high[1] / high[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
