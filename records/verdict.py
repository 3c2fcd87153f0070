"""Whether a trial may be believed (verdict.json)."""

from __future__ import annotations

from enum import StrEnum

from records.record import Record


class Check(StrEnum):
    """The closed list of health checks."""

    LINK_RATE = "link_rate"
    LINK_LOSS = "link_loss"
    LINK_DELAY = "link_delay"
    LINK_TIMELINE = "link_timeline"
    LINE_LATENESS = "line_lateness"
    OFFLOADS_OFF = "offloads_off"
    CAPTURE_DROPS = "capture_drops"
    GENERATOR_CPU = "generator_cpu"
    SERVER_CPU = "server_cpu"
    SERVER_THREAD = "server_thread"
    SERVER_MEMORY = "server_memory"
    SEND_LATENESS = "send_lateness"
    HEARTBEAT = "heartbeat"
    MACHINE_USE = "machine_use"
    FOREIGN_LOAD = "foreign_load"
    STEAL = "steal"
    CPU_QUOTA = "cpu_quota"
    SOFTIRQ_DROPS = "softirq_drops"
    LEDGER_CLOSES = "ledger_closes"
    CLEAN_SLATE = "clean_slate"
    SERVERS_ALIVE = "servers_alive"
    PATH_RTT = "path_rtt"
    PROGRAMS_SUCCEEDED = "programs_succeeded"
    STATION_CPU = "station_cpu"


# Checks that verdicts of earlier versions do not have: those trials are not in doubt for want of them.
ADDED_LATER = frozenset(
    {
        Check.SERVER_THREAD,
        Check.MACHINE_USE,
        Check.FOREIGN_LOAD,
        Check.STEAL,
        Check.CPU_QUOTA,
        Check.SOFTIRQ_DROPS,
        Check.PATH_RTT,
        Check.LINE_LATENESS,
        Check.PROGRAMS_SUCCEEDED,
        Check.STATION_CPU,
    }
)


# Why a failed check does not count where no scenario says so.
SHARED_MACHINE = "the machine is shared, as AIRWIRE_SHARED_MACHINE says"
IN_CLIENT = "the stack runs inside its clients' processes, which machine_use judges"


class Limiter(StrEnum):
    """What limited a trial.  SCHEDULE: the open loop's own.  NOTHING: no use was at its bound, round trips are.

    PROGRAMS: no use was at its bound, and what programs wait for is their own affair.
    """

    LINK = "link"
    SERVER = "server"
    GENERATOR = "generator"
    DISK = "disk"
    MACHINE = "machine"
    SCHEDULE = "schedule"
    PROGRAMS = "programs"
    NOTHING = "nothing"


class Health(StrEnum):
    """WAIVED: it failed, and the scenario says by name that this does not matter, or one of the reasons above holds.

    NOT_APPLICABLE: the trial has nothing that could be checked, as programs have no ledger; detail says why.
    """

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    WAIVED = "waived"
    NOT_APPLICABLE = "not applicable"


_AMISS = (Health.FAILED, Health.UNKNOWN, Health.WAIVED)  # what decides comes first


class State(StrEnum):
    """VALID: every check that applies passed or was waived.  INVALID: one failed.  INCONCLUSIVE: one is unknown."""

    VALID = "valid"
    INVALID = "invalid"
    INCONCLUSIVE = "inconclusive"


class HealthCheck(Record):
    """measured and limit are in `unit`; detail says in a sentence what was compared."""

    check: Check
    health: Health
    measured: float | None = None
    limit: float | None = None
    unit: str = ""
    detail: str = ""

    @property
    def reason(self) -> str:
        """Which check, what became of it, and the figures that were compared."""
        figures = [
            f"{word} {value:.4g} {self.unit}".rstrip()
            for word, value in (("measured", self.measured), ("limit", self.limit))
            if value is not None
        ]
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.check} {self.health}{detail}" + (f" ({', '.join(figures)})" if figures else "")


class Use(Record):
    """How much of something the trial had used in its window, and from what share on that is a limit.

    share: None where it is not known, or where there is no limit, as for a link without a rate.
    """

    of: Limiter
    share: float | None
    limit: float
    unit: str


class Verdict(Record):
    """limited_by: None in verdicts of earlier versions, which did not record it."""

    checks: tuple[HealthCheck, ...]
    limited_by: Limiter | None = None
    uses: tuple[Use, ...] = ()

    @property
    def state(self) -> State:
        """The trial's verdict, from its checks."""
        healths = {check.health for check in self.checks}
        if Health.FAILED in healths:
            return State.INVALID
        if Health.UNKNOWN in healths or self.missing:
            return State.INCONCLUSIVE
        return State.VALID

    @property
    def missing(self) -> tuple[Check, ...]:
        """Checks that were not made, although every version makes them."""
        made = {check.check for check in self.checks}
        return tuple(check for check in Check if check not in made | ADDED_LATER)

    @property
    def not_recorded(self) -> tuple[Check, ...]:
        """Checks that the version which judged the trial did not have."""
        made = {check.check for check in self.checks}
        return tuple(check for check in Check if check in ADDED_LATER - made)

    def reasons(self) -> tuple[str, ...]:
        """One line for each check that did not pass; what failed first, since a terminal shows the beginning."""
        return tuple(check.reason for health in _AMISS for check in self.checks if check.health is health)
