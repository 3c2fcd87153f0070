"""Where the time of a delivery goes: the parts of its journey, averaged over trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.findings import TrialFinding
from analysis.journey.parts import KEYS, LATENCY, of_response, ordered
from records.counts import out_of

MISFIT = 0.01  # of the latency: parts that sum to it within this share explain it
UNSAID = "nothing was found that joins its packets with its messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """One bar.  key: of KEYS.  parts: in the order of the way, seconds; means over `trials` trials, as latency is.

    latency_of: of which messages, see TrialFinding.
    """

    key: str
    latency: float
    parts: dict[str, float]
    trials: int
    latency_of: Literal["sent", "arrived"] = "sent"

    @property
    def of_responses(self) -> bool:
        """Whether what is split is a response time, of a request and its reply."""
        return any(map(of_response, self.parts))

    @property
    def unexplained(self) -> float:
        """Seconds of the latency that no part has, beyond rounding; negative when the parts are more than it."""
        rest = self.latency - sum(self.parts.values())
        return rest if abs(rest) > MISFIT * abs(self.latency) else 0.0


def told_of(found: Sequence[Breakdown]) -> tuple[str, str]:
    """What is split, and whose: of messages the latency of deliveries, of requests the response time."""
    responses = any(one.of_responses for one in found)
    return ("response time", "answered requests") if responses else ("latency", "deliveries")


def breakdowns(trials: Sequence[TrialFinding]) -> tuple[Breakdown, ...]:
    """A breakdown for each key that a trial has; a part that only some of them have counts as 0 in the others.

    Trials with journeys of arrivals (older reductions) are not averaged with others: they count where there are no
    others.
    """
    told = _of_one_kind(trials)
    of = told[0].latency_of if told else "sent"
    found = (_breakdown(key, [trial.journey[key] for trial in told if key in trial.journey], of) for key in KEYS)
    return tuple(one for one in found if one is not None)


def _of_one_kind(trials: Sequence[TrialFinding]) -> list[TrialFinding]:
    """Those with a journey, of what was sent in the window where there are any."""
    told = [trial for trial in trials if trial.journey]
    return [trial for trial in told if trial.latency_of == "sent"] or told


def whose(trials: Sequence[TrialFinding]) -> str:
    """Of which messages or requests these trials' journeys are, and what is left out."""
    told = _of_one_kind(trials)
    if any(one.of_responses for one in breakdowns(trials)):
        return "of the requests that were sent in the window and answered"
    if told and told[0].latency_of == "arrived":
        return "of what arrived in the window (an older reduction)"
    late = sum("latency_mean_s" in trial.at_least for trial in told)
    rest = f"; in {out_of(late, len(told))} messages never came, which have no journey" if late else ""
    return f"of what was sent in the window and arrived{rest}"


def _breakdown(key: str, journeys: Sequence[dict[str, float]], of: Literal["sent", "arrived"]) -> Breakdown | None:
    whole = [journey for journey in journeys if LATENCY in journey]
    if not whole:
        return None
    known = ordered(part for journey in whole for part in journey if part != LATENCY)
    mean = {name: sum(journey.get(name, 0.0) for journey in whole) / len(whole) for name in (LATENCY, *known)}
    parts = {part: mean[part] for part in known}
    return Breakdown(key=key, latency=mean[LATENCY], parts=parts, trials=len(whole), latency_of=of)


def share(trials: Sequence[TrialFinding]) -> float | None:
    """Mean share of the deliveries, or answered requests, that were attributed; None where no trial says."""
    shares = [trial.metrics["journey_share"] for trial in trials if "journey_share" in trial.metrics]
    return sum(shares) / len(shares) if shares else None


def whys(trials: Sequence[TrialFinding]) -> tuple[str, ...]:
    """Why nothing, or not all, could be attributed: each reason once."""
    said = [trial.journey_why or ("" if trial.journey else UNSAID) for trial in trials]
    return tuple(dict.fromkeys(filter(None, said)))
