"""Calibrating link profiles: what each asks against what it delivers, on each kernel that can do it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO

from emulation.kernel import KernelName
from emulation.profile import LinkProfile
from experiments.conversation import worker
from experiments.isolation import module
from experiments.kernels import Kernels, NotPossible
from results.calibration import Calibrated
from results.manifest import Record

WANTED = ("auto", "host", "lab", "both")


class Request(Record):
    """What experiments.calibration_process is asked."""

    profiles: tuple[LinkProfile, ...]
    seed: int


def stations_needed(profile: LinkProfile) -> int:
    """How many stations show all that a profile says: every one with settings of its own, and one other."""
    own = {int(name.removeprefix("sta")) for name in profile.stations}
    return max(max(own, default=0), len(own) + 1)


def calibrate(
    profiles: Sequence[LinkProfile], *, wanted: str, kernels: Kernels, seed: int, messages: IO[str]
) -> Iterator[Calibrated]:
    """Probe every profile on each wanted kernel, one after another; those that a kernel cannot do come first.

    wanted: one of WANTED.  messages: where what workers say on standard error goes.
    """
    possible: dict[KernelName, list[LinkProfile]] = {"host": [], "lab": []}
    for profile in profiles:
        for kernel, why in _kernels_for(profile, wanted, kernels):
            if why:
                yield Calibrated(profile=profile.name, kernel=kernel, refused=why)
            else:
                possible[kernel].append(profile)
    for kernel, chosen in possible.items():
        if chosen:
            yield from _on(kernel, chosen, seed, messages)


def _kernels_for(profile: LinkProfile, wanted: str, kernels: Kernels) -> Iterator[tuple[KernelName, str]]:
    """Each wanted kernel, and why it cannot do the profile ('' when it can)."""
    if wanted == "auto":
        try:
            yield kernels.choose(profile), ""
            return
        except NotPossible:
            wanted = "both"
    if wanted in ("host", "both"):
        yield "host", kernels.why_not_host(profile)
    if wanted in ("lab", "both"):
        yield "lab", kernels.why_not_lab(profile)


def _on(kernel: KernelName, profiles: Sequence[LinkProfile], seed: int, messages: IO[str]) -> Iterator[Calibrated]:
    request = Request(profiles=tuple(profiles), seed=seed)
    waiting = [profile.name for profile in profiles]
    with worker(
        kernel, module("experiments.calibration_process"), request.model_dump_json(), messages=messages
    ) as answers:
        for line in answers:
            found = Calibrated.model_validate_json(line)
            waiting.remove(found.profile)
            yield found
    for name in waiting:
        yield Calibrated(profile=name, kernel=kernel, refused="the worker ended before it", failed=True)
