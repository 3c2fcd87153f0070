"""The later states of a trial's links: which of them this trial has to prove, and what came of it.

A state that held is remembered for the campaign, so that other trials with the same kernel and profile rely on it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from emulation.kernel.kernel import KernelName
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from emulation.proof.peerproof import PeerEnds
from emulation.proof.stateproof import LaterState, later_states, longest_s, proof_plan, prove_state, unmet, usual_s
from experiments.scenario.segments import is_medium, profile_of, topology_plan
from experiments.scenario.settings import Settings
from experiments.trial.context import TrialContext
from experiments.trial.provenance import this_kernel
from records.link import LaterProof, LinkCheck
from records.proven import ProvenState, note_proven, proven_states
from records.store import trial_name
from topologies.network import ends_of, peer_ends

# How often a state is proven at most (experiments.trial.trial).
TRIES = 3
_BY: dict[MediumName, str] = {"tc": "", "line": ", the line"}
# Starting threads and moving a link takes that many times as long there.
_SLOWER: dict[KernelName, float] = {"host": 1.0, "lab": 3.0}


class LaterStates:
    """What a trial knows of the later states of its links.  Only media of stations have timelines."""

    def __init__(self, context: TrialContext) -> None:
        first, *further = context.plans.items()
        self._each = {
            first[0]: _Segment(context, *first, peer_ways=context.peer_ways),
            **{name: _Segment(context, name, plan) for name, plan in further},
        }

    @property
    def checks(self) -> dict[str, tuple[LinkCheck, ...]]:
        """What this trial has measured, by segment, of each state the last."""
        return {name: one.checks for name, one in self._each.items()}

    @property
    def proofs(self) -> dict[str, tuple[LaterProof, ...]]:
        """By segment, every later state and the trial that has proven it, or tried to: then its checks say what was
        off.
        """
        return {name: one.proofs for name, one in self._each.items()}

    def prove(self) -> None:
        """Prove what nobody has, and what did not hold.  Nothing else may use the links meanwhile."""
        for one in self._each.values():
            one.prove()

    def remember(self) -> None:
        """Let other trials rely on what held in this one."""
        for one in self._each.values():
            one.remember()


class _Segment:
    """One of its links."""

    def __init__(
        self, context: TrialContext, name: str, link: LinkPlan, *, peer_ways: Collection[tuple[str, str]] = ()
    ) -> None:
        self._context, self._name = context, name
        until_s = _until_s(context.settings)
        self._states = later_states(link.profile, link.groups, until_s=until_s, met=link.directions)
        self._peer_ways = peer_ways if self._states else ()
        self._plan = proof_plan(link, until_s=until_s)
        self._campaign = Path(context.spec.campaign_folder)
        self._trial = f"{context.spec.cell}/{trial_name(context.spec.trial)}"
        kernel = this_kernel()
        made = context.spec.provenance
        self._kernel = (
            f"{kernel.release} ({kernel.chosen}{_BY[link.made_by]}), {made.machine.cpu_model}, code {made.git.code}"
        )
        # A proof to a wired side, one through an access point and one ad hoc are of different ways.
        between = {"between stations": link.via} if self._peer_ways else {}
        # Each medium of a trial is a link of its own, be they alike.
        other = {"segment": name} if link is not context.link else {}
        self._profile = digest(link.profile.model_dump(mode="json") | between | other)
        self._elsewhere = self._remembered() if self._states else {}
        self._found: dict[str, tuple[LinkCheck, ...]] = {}

    def _remembered(self) -> dict[str, str]:
        """State to the trial that has proven it."""
        return {
            one.state: one.trial
            for one in proven_states(self._campaign)
            if (one.kernel, one.profile) == (self._kernel, self._profile)
        }

    @property
    def checks(self) -> tuple[LinkCheck, ...]:
        """What this trial has measured, of each state the last."""
        return tuple(check for some in self._found.values() for check in some)

    @property
    def proofs(self) -> tuple[LaterProof, ...]:
        """Every later state and the trial that has proven it, or tried to: then its checks say what was off."""
        return tuple(
            LaterProof(state=one.change, proven_by=self._elsewhere.get(one.key, self._trial)) for one in self._states
        )

    def prove(self) -> None:
        """Prove what nobody has, and what did not hold.  Nothing else may use the link meanwhile."""
        network = self._context.network
        ports, ends = network.segments[self._name].ports, partial(ends_of, network, segment=self._name)
        for one in self._states:
            if one.key in self._elsewhere or (one.key in self._found and _holds(self._found[one.key])):
                continue
            self._found[one.key] = prove_state(
                self._plan, ports, one, ends, self._pairs(one), process=self._context.line
            )

    def _pairs(self, one: LaterState) -> Sequence[PeerEnds] | None:
        """Stations that this trial's load is between and that are not out; None where there is a server."""
        if not self._peer_ways:
            return None
        now = one.path[-1]
        there = [] if now.dark else [way for way in self._peer_ways if now.out.isdisjoint(way)]
        return peer_ends(self._context.network, self._plan.groups, there)

    def _is_whole(self, one: LaterState) -> bool:
        """Whether all of a state was looked at: other trials' loads may be between other stations."""
        pairs = self._pairs(one)
        return pairs is None or not unmet(self._plan, one, pairs)

    def remember(self) -> None:
        """Let other trials rely on what held in this one."""
        note_proven(
            self._campaign,
            [
                ProvenState(
                    kernel=self._kernel,
                    profile=self._profile,
                    state=one.key,
                    change=one.change,
                    trial=self._trial,
                    checks=self._found[one.key],
                )
                for one in self._states
                if one.key in self._found and _holds(self._found[one.key]) and self._is_whole(one)
            ],
        )


def digest(profile: dict[str, Any]) -> str:
    """SHA-256 of a profile as it travels."""
    return hashlib.sha256(json.dumps(profile, sort_keys=True).encode()).hexdigest()


def usual_seconds(settings: Settings, profile: LinkProfile) -> float:
    """About how long a trial takes to prove all later states of its link."""
    return sum(map(usual_s, _states(settings, profile)))


def longest_seconds(settings: Settings, profile: LinkProfile, kernel: KernelName) -> float:
    """How long that can take, every repetition included."""
    return _SLOWER[kernel] * TRIES * sum(map(longest_s, _states(settings, profile)))


def _states(settings: Settings, profile: LinkProfile) -> Iterator[LaterState]:
    if not profile.timeline:
        return
    plan = topology_plan(settings)
    for one in plan.emulated:
        if is_medium(plan, one):
            mine = profile_of(one, profile, {}, settings.network)
            met = linkplan.met(one.via)
            yield from later_states(mine, mine.groups(one.stations), until_s=_until_s(settings), met=met)


def _until_s(settings: Settings) -> float:
    """How much of the timeline a trial plays at most."""
    seconds: float = settings.window.window_s + settings.window.drain_s
    return seconds


def _holds(checks: tuple[LinkCheck, ...]) -> bool:
    return all(check.holds for check in checks)
