"""Every threshold of the health checks; a scenario may tighten one, or waive its check by name."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.scenario.settings import CheckSettings
from records.verdict import Check


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest value that passes, in `unit`.

    machine_alone: whether this machine (a stall, other work on it) can make a trial fail the check although link and
    stack are sound.  A trial that fails only such checks is set aside and repeated (experiments.campaign.retry), so it
    is False wherever what is measured is the stack's own doing, even if the machine has a part in it.
    """

    value: float
    unit: str
    machine_alone: bool


# 60 % of processor and memory is the bound that the 2005 pub/sub study set for all of its machines.
LIMITS: dict[Check, Limit] = {
    # Stacks cannot change the link.  A stall makes probes late, and those that it holds up for too long count as lost.
    Check.LINK_RATE: Limit(0, "checks outside tolerance", machine_alone=True),
    Check.LINK_LOSS: Limit(0, "checks outside tolerance", machine_alone=True),
    Check.LINK_DELAY: Limit(0, "checks outside tolerance", machine_alone=True),
    # The thread that plays the timeline has to wake within 20 ms.
    Check.LINK_TIMELINE: Limit(0, "checks outside tolerance", machine_alone=True),
    # A small frame takes 0.8 ms at 1 Mbit/s: a medium that is later than that is another one.  The few that do not
    # count are one in a thousand, or one in a hundred by less than a full frame takes (checks.linechecks).
    # A line goes before all other work, so that it is late when the machine, or its hypervisor, does not let it run.
    Check.LINE_LATENESS: Limit(0.001, "s, all but a few", machine_alone=True),
    # A setting of ours; nothing but us changes it.
    Check.OFFLOADS_OFF: Limit(0, "offloads on, other MTUs, or frames too large for a link", machine_alone=False),
    # The kernel's buffer holds seconds of packets; tcpdump misses some only when it does not run for longer.
    Check.CAPTURE_DROPS: Limit(0, "packets", machine_alone=True),
    # Processor time and memory are those of the stack's own processes: other processes add nothing to them.
    Check.GENERATOR_CPU: Limit(0.6, "share of a core, busiest client process", machine_alone=False),
    Check.SERVER_CPU: Limit(0.6, "share of all cores, all servers together", machine_alone=False),
    # Beyond, a message waits longer for the thread than for four others to be served (M/M/1: use / (1 - use)).
    Check.SERVER_THREAD: Limit(0.8, "share of a core, busiest thread of a server", machine_alone=False),
    Check.SERVER_MEMORY: Limit(0.6, "share of memory", machine_alone=False),
    # The generator is an ordinary process: other work makes it wait although the heartbeat, which goes first, does not.
    Check.SEND_LATENESS: Limit(0.25, "s", machine_alone=True),
    Check.HEARTBEAT: Limit(0.5, "s", machine_alone=True),
    # Beyond, what wants a processor of two waits longer than it works (M/M/2: 1.8 times at 0.8).  Others' work is not
    # in it: what saturates the machine is the trial itself, and would again.
    Check.MACHINE_USE: Limit(0.8, "share of all cores, foreign load not included", machine_alone=False),
    # Daemons and the like use a few hundredths; a shell that compiles, or a browser, a core and more.
    Check.FOREIGN_LOAD: Limit(0.1, "cores", machine_alone=True),
    # Whatever needs the processor is slower by that share: by less than the precision that a cell is measured to.
    Check.STEAL: Limit(0.05, "share of all cores", machine_alone=True),
    # A group that is throttled stands still for what is left of a period of 100 ms.
    Check.CPU_QUOTA: Limit(0, "periods in which the quota stopped the trial", machine_alone=True),
    # Losses that are in no list.  The backlog has room for 1,000 packets of links that stations and servers fill at
    # most at their rate: it overflows when the kernel does not run for long.
    Check.SOFTIRQ_DROPS: Limit(0, "packets", machine_alone=True),
    # Slow is not wrong: late messages are in doubt or lost, and the books close all the same.
    Check.LEDGER_CLOSES: Limit(0, "rows that do not match", machine_alone=False),
    Check.CLEAN_SLATE: Limit(0, "messages from before the trial", machine_alone=False),
    # What ended or hung up did so by itself; nothing of ours gives a connection up within a stall of seconds.
    Check.SERVERS_ALIVE: Limit(0, "servers or connections lost", machine_alone=False),
    # A stall makes round trips longer, never shorter.
    Check.PATH_RTT: Limit(0, "ends of connections trained on another link", machine_alone=False),
    # Whether a program ends, and how, is its own doing.
    Check.PROGRAMS_SUCCEEDED: Limit(0, "programs that failed or did not print their metrics", machine_alone=False),
    # Beyond, the quota decides now and then, and not the link: a share is used up in periods of 10 ms.
    Check.STATION_CPU: Limit(0.7, "share of what a station may use of a core", machine_alone=False),
}

# The same bound for all trials together, while several share a machine.
MACHINE_CPU = LIMITS[Check.SERVER_CPU].value


def looser_limits(settings: CheckSettings) -> dict[Check, str]:
    """Limits of a scenario that are above the default, with what to do about it."""
    return {
        check: f"{own:g}: looser than {LIMITS[check].value:g} {LIMITS[check].unit}; a limit may only be "
        "tightened: waive the check by name, with a reason, if it does not matter"
        for check, own in settings.limits.items()
        if own > LIMITS[check].value
    }
