"""Calibrating link profiles: what each asks against what it delivers, on each kernel that can do it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO

from pydantic import TypeAdapter

from emulation.profile import media
from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from experiments.workers.isolation import isolated, module
from experiments.workers.kernels import Kernels, NotPossible
from experiments.workers.lines import ProtocolError, read_any
from experiments.workers.place import Place
from experiments.workers.worker import Failed, Workers
from records.calibration import Calibrated
from records.record import Record
from topologies.plan import MAX_STATIONS

_ANSWER: TypeAdapter[Calibrated | Failed] = TypeAdapter(Calibrated | Failed)
WANTED = ("auto", "host", "lab", "both")
MEDIA = (*media.WANTED, "both")


class Request(Record):
    """What experiments.tools.calibration_process is asked."""

    profiles: tuple[LinkProfile, ...]
    seed: int
    medium: MediumName = "tc"


def stations_needed(profile: LinkProfile) -> int:
    """How many stations show all that a profile says: every one with settings of its own, and one other."""
    own = {int(name.removeprefix("sta")) for name in profile.named_stations}
    return max(max(own, default=0), len(own) + 1)


def calibrate(
    profiles: Sequence[LinkProfile], *, wanted: str, medium: str, kernels: Kernels, seed: int, messages: IO[str]
) -> Iterator[Calibrated]:
    """Probe every profile on each wanted kernel, one after another; those that a kernel cannot do come first.

    wanted: one of WANTED.  medium: one of MEDIA, for the machine's own kernel; `auto` takes what a trial would have
    there.  kernels: wanting the same medium.  messages: where what workers say on standard error goes.
    """
    possible: dict[Place, list[LinkProfile]] = {}
    for profile in profiles:
        for place, why in _places_for(profile, wanted, medium, kernels):
            if why:
                yield Calibrated(profile=profile.name, kernel=place.kernel, medium=place.medium, refused=why)
            else:
                possible.setdefault(place, []).append(profile)
    for place in sorted(possible):
        yield from _on(place, possible[place], seed, messages)


def _places_for(profile: LinkProfile, wanted: str, medium: str, kernels: Kernels) -> Iterator[tuple[Place, str]]:
    """Each wanted kernel and medium, and why it cannot do the profile ('' when it can)."""
    stations = stations_needed(profile)
    if stations > MAX_STATIONS:
        why = f"it names station {stations}, and a medium has {MAX_STATIONS} at most"
        yield Place("lab" if wanted == "lab" else "host", "tc"), why
        return
    if wanted == "auto":
        try:
            yield kernels.choose(profile, stations=stations), ""
            return
        except NotPossible:
            wanted = "both"
    if wanted in ("host", "both"):
        for one in _media(profile, medium, kernels):
            yield Place("host", one), kernels.why_not_host(profile, stations=stations, medium=one)
    if wanted in ("lab", "both") and medium != "line":
        yield Place("lab", "tc"), kernels.why_not_lab(profile)


def _media(profile: LinkProfile, medium: str, kernels: Kernels) -> tuple[MediumName, ...]:
    if medium == "both":
        return "tc", "line"
    if medium == "auto":
        return (kernels.medium_on_host(profile, stations=stations_needed(profile)),)
    return ("line",) if medium == "line" else ("tc",)


def _on(place: Place, profiles: Sequence[LinkProfile], seed: int, messages: IO[str]) -> Iterator[Calibrated]:
    request = Request(profiles=tuple(profiles), seed=seed, medium=place.medium)
    waiting = [profile.name for profile in profiles]
    words = isolated(place.kernel, module("experiments.tools.calibration_process"))
    why = "the worker ended before it"
    with Workers().started(words, request.model_dump_json(), messages=messages) as worker:
        for line in worker.answers:
            try:
                answer = read_any(line, _ANSWER)
            except ProtocolError:  # half a line of one that was killed: what it has not answered is told below
                break
            if isinstance(answer, Failed):
                why = answer.message
                break
            waiting.remove(answer.profile)
            yield answer
    for name in waiting:
        yield Calibrated(profile=name, kernel=place.kernel, medium=place.medium, refused=why, failed=True)
