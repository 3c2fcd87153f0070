"""What an Ansible run costs, in CPU-seconds without those of the service itself.

    python benchmarks/play_cost.py [--stack NAME] [--repeat N]

The service is installed, started and stopped in a throwaway network namespace.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path

from emulation.kernel.namespace import throwaway_namespace
from experiments.deploy import Action, Target, apply, role_call
from stacks import registry

PLAYS: tuple[tuple[Action, ...], ...] = (("install",), ("configure", "start"), ("stop",))


def used_s() -> float:
    """CPU-seconds of this process and of its children that have ended."""
    found = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in found)


def main() -> None:
    """Print the median of each play."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", default="reference")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    roles = tuple(role_call(one) for one in registry.get(options.stack, {}).services())
    spent: defaultdict[str, list[float]] = defaultdict(list)
    for _ in range(options.repeat):
        with tempfile.TemporaryDirectory() as scratch, throwaway_namespace() as pid:
            target = Target(name="server", address="127.0.0.1", pid=pid, roles=roles)
            for actions in PLAYS:
                before = used_s()
                apply(actions, [target], scratch=Path(scratch), timeout_s=300)
                spent[" and ".join(actions)].append(used_s() - before)
    for name, each in spent.items():
        print(f"{options.stack}, {name}: {statistics.median(each):.2f} CPU-s ({min(each):.2f} to {max(each):.2f})")


if __name__ == "__main__":
    main()
