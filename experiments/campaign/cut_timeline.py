"""Timelines that go on when the measurement window has ended: what of them a campaign will not show.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emulation.profile.events import Event
from emulation.profile.profile import LinkProfile
from experiments.scenario.settings import Settings
from records.campaign import Campaign
from records.directions import DIRECTIONS

_SHOWN = 3


def told(campaign: Campaign) -> tuple[str, ...]:
    """A sentence for each link and window of a campaign by which a timeline is cut, with the way to see all of it."""
    found: dict[str, None] = {}
    for cell in campaign.cells:
        profile = cell.settings["profile"]
        if profile.get("timeline"):
            settings = Settings.model_validate(cell.settings["settings"])
            found |= dict.fromkeys(cut(LinkProfile.model_validate(profile), window_s=settings.window.window_s))
    return tuple(found)


def cut(profile: LinkProfile, *, window_s: float) -> Iterator[str]:
    """What a window of so many seconds leaves out of a profile's timeline; nothing when it shows all."""
    events = sorted(profile.timeline, key=lambda one: one.at)
    last = max((_ends(one) for one in events), default=0.0)
    if last <= window_s and all(one.at < window_s for one in events):
        return
    unseen = [one for one in events if one.at >= window_s]
    halved = [one for one in events if one.at < window_s < _ends(one)]
    parts = []
    if unseen:
        parts.append(f"{len(unseen)} of its {len(events)} events come later ({_listed(unseen)})")
    parts += [f"the {_kind(one)} at {one.at:g} s is cut" for one in halved]
    yield (
        f"network {profile.name}: its timeline goes on for {last:g} s, and the window shows the first {window_s:g} s: "
        f"{', and '.join(parts)}; all of it takes window: {{window_s: {_enough(last, events):g}}}"
    )


def _ends(event: Event) -> float:
    """When all of an event has been seen once; a trace is as long as its recording, after which it begins anew."""
    if event.trace is None:
        return event.ends
    periods: list[float] = [one.period_s for way in DIRECTIONS if (one := getattr(event.trace, way)) is not None]
    return event.at + max(periods)


def _enough(last: float, events: Sequence[Event]) -> float:
    """A second more, where something begins at the very end: a change is seen by what comes after it."""
    return last + 1 if any(one.at >= last for one in events) else last


def _listed(events: Sequence[Event]) -> str:
    words = [f"{_kind(one)} at {one.at:g} s" for one in events[:_SHOWN]]
    more = len(events) - len(words)
    return ", ".join(words) + (f" and {more} more" if more else "")


def _kind(event: Event) -> str:
    kinds = {"outage": event.outage, "handover": event.handover, "trace": event.trace}
    return next((name for name, what in kinds.items() if what is not None), "change")
