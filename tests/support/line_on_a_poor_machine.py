"""A line over two stations on a machine that may lack what it needs: says why there is none, or `ready`."""

from __future__ import annotations

import sys

from emulation.kernel.namespace import KernelError
from emulation.link import link
from emulation.plan import linkplan
from emulation.profile import library
from topologies.star import star


def main() -> int:
    """Status 1 with a message when there is no line."""
    plan = linkplan.plan(
        library.load("nistnet-80211"), ["sta1"], seed=1, seconds=1, timeline_s=1, made_by="line"
    )  # fmt: skip
    with star(stations=1, congestion_control="reno") as network:
        try:
            with link.applied(plan, network.ports):
                print("ready")
        except KernelError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
