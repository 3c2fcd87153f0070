"""Whether a trial may be believed (verdict.json)."""

from __future__ import annotations

from enum import StrEnum

from results.manifest import Record


class Check(StrEnum):
    """The closed list of health checks."""

    LINK_RATE = "link_rate"
    LINK_LOSS = "link_loss"
    LINK_DELAY = "link_delay"
    LINK_TIMELINE = "link_timeline"
    OFFLOADS_OFF = "offloads_off"
    CAPTURE_DROPS = "capture_drops"
    GENERATOR_CPU = "generator_cpu"
    SERVER_CPU = "server_cpu"
    SERVER_MEMORY = "server_memory"
    SEND_LATENESS = "send_lateness"
    HEARTBEAT = "heartbeat"
    LEDGER_CLOSES = "ledger_closes"
    CLEAN_SLATE = "clean_slate"
    SERVERS_ALIVE = "servers_alive"
    PATH_RTT = "path_rtt"


# Checks that verdicts of earlier versions do not have: those trials are not in doubt for want of them.
ADDED_LATER = frozenset({Check.PATH_RTT})


class Health(StrEnum):
    """WAIVED: it failed, and the scenario says by name that this does not matter."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    WAIVED = "waived"


class State(StrEnum):
    """VALID: every check passed or was waived.  INVALID: one failed.  INCONCLUSIVE: none failed, one is unknown."""

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


class Verdict(Record):
    checks: tuple[HealthCheck, ...]

    @property
    def state(self) -> State:
        """The trial's verdict, from its checks."""
        healths = {check.health for check in self.checks}
        if Health.FAILED in healths:
            return State.INVALID
        missing = set(Check) - ADDED_LATER - {check.check for check in self.checks}
        if Health.UNKNOWN in healths or missing:
            return State.INCONCLUSIVE
        return State.VALID

    def reasons(self) -> tuple[str, ...]:
        """One line for each check that did not pass."""
        return tuple(check.reason for check in self.checks if check.health is not Health.PASSED)
