"""What a long list costs nftables' library, and what it costs by netlink (emulation/kernel/nftables.py).

    python benchmarks/nftables_cost.py [--elements N] [--repeat N]

CPU-seconds of this process, the median: to load a list, and then to count by the two counters beside it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np

from emulation.kernel.namespace import in_namespace, throwaway_namespace
from emulation.kernel.nft import Nft
from emulation.kernel.nftables import counters, fill, open_netfilter

TABLE = (
    "create table bridge t\ntable bridge t {{\ncounter a {{ }}\ncounter b {{ }}\nset s {{ typeof {kind}; {of} }}\n}}"
)


def spent_s(work: Callable[[], object]) -> float:
    """CPU-seconds that this takes."""
    before = time.process_time()
    work()
    return time.process_time() - before


def once(numbers: np.ndarray) -> dict[tuple[str, str], float]:
    """CPU-seconds by what is done and how, each way in a namespace of its own."""
    kind = f"numgen inc mod {int(numbers[-1]) + 1}"
    found = {}
    with throwaway_namespace() as pid, Nft(pid) as nft:
        listed = f"elements = {{ {', '.join(map(str, numbers.tolist()))} }}"
        found["load", "library"] = spent_s(lambda: nft.run(TABLE.format(kind=kind, of=listed)))
        found["count", "library"] = spent_s(lambda: json.loads(nft.run("list counters table bridge t", json=True)))
    with throwaway_namespace() as pid, Nft(pid) as nft, in_namespace(pid, open_netfilter) as netlink:
        nft.run(TABLE.format(kind=kind, of=""))
        found["load", "netlink"] = spent_s(lambda: fill(netlink, "t", "s", numbers))
        found["count", "netlink"] = spent_s(lambda: counters(netlink, "t"))
    return found


def main() -> None:
    """Print a line for loading and one for counting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=60_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    numbers = np.arange(0, 10 * options.elements, 10)
    rounds = [once(numbers) for _ in range(options.repeat)]
    for what in ("load", "count"):
        library, netlink = (statistics.median(one[what, way] for one in rounds) for way in ("library", "netlink"))
        print(
            f"{what} {options.elements} elements: library {library:.4f} s, netlink {netlink:.4f} s, "
            f"{library / netlink:.0f} times as much"
        )


if __name__ == "__main__":
    main()
