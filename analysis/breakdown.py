"""Where the time of a delivery goes: the parts of its journey, averaged over trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.findings import TrialFinding
from analysis.journey.parts import KEYS, LATENCY, PARTS

LABELS = {part: part.replace("_", " ") for part in PARTS}
MISFIT = 0.01  # of the latency: parts that sum to it within this share explain it
UNSAID = "nothing was found that joins its packets with its messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """One bar.  key: of KEYS.  parts: in the order of PARTS, seconds; means over `trials` trials, as latency is."""

    key: str
    latency: float
    parts: dict[str, float]
    trials: int

    @property
    def unexplained(self) -> float:
        """Seconds of the latency that no part has, beyond rounding; negative when the parts are more than it."""
        rest = self.latency - sum(self.parts.values())
        return rest if abs(rest) > MISFIT * abs(self.latency) else 0.0


def breakdowns(trials: Sequence[TrialFinding]) -> tuple[Breakdown, ...]:
    """A breakdown for each key that a trial has; a part that only some of them have counts as 0 in the others."""
    found = (_breakdown(key, [trial.journey[key] for trial in trials if key in trial.journey]) for key in KEYS)
    return tuple(one for one in found if one is not None)


def _breakdown(key: str, journeys: Sequence[dict[str, float]]) -> Breakdown | None:
    whole = [journey for journey in journeys if LATENCY in journey]
    if not whole:
        return None
    mean = {name: sum(journey.get(name, 0.0) for journey in whole) / len(whole) for name in (LATENCY, *PARTS)}
    known = [part for part in PARTS if any(part in journey for journey in whole)]
    return Breakdown(key=key, latency=mean[LATENCY], parts={part: mean[part] for part in known}, trials=len(whole))


def share(trials: Sequence[TrialFinding]) -> float | None:
    """Mean share of the deliveries that were attributed; None where no trial says."""
    shares = [trial.metrics["journey_share"] for trial in trials if "journey_share" in trial.metrics]
    return sum(shares) / len(shares) if shares else None


def whys(trials: Sequence[TrialFinding]) -> tuple[str, ...]:
    """Why nothing, or not all, could be attributed: each reason once."""
    said = [trial.journey_why or ("" if trial.journey else UNSAID) for trial in trials]
    return tuple(dict.fromkeys(filter(None, said)))
