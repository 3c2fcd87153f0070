"""Later states of a link: proven by one trial for all, again until they hold, and with a share in its time limit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from lab_runs import scenario_file
from origin import origin
from unbuilt import unbuilt

from emulation.kernel import kernel
from emulation.kernel.accesspoint import Ports
from emulation.plan import linkplan
from emulation.plan.linkplan import LinkPlan
from emulation.profile.media import MediumName, Via
from emulation.profile.profile import LinkProfile
from emulation.proof.probe import MIN_FRAME
from emulation.proof.proof import Ends
from emulation.proof.stateproof import LaterState
from experiments.campaign import campaign as campaigns
from experiments.campaign import durations, launch, runner
from experiments.scenario import scenario as scenarios
from experiments.scenario.settings import Settings
from experiments.trial import later_states
from experiments.trial.later_states import LaterStates
from records.campaign import read_campaign
from records.link import LinkCheck, LinkProof
from records.proven import FILE, ProvenState, note_proven, proven_states

STATIONS = ("sta1", "sta2")
EVENTS = [{"at": 1, "change": {"rate": 5e5}}, {"at": 2, "outage": 0.5}]
WINDOW = {"warmup_s": 0, "window_s": 5, "drain_s": 1}


def profile(**settings: Any) -> LinkProfile:
    base = {"name": "made", "description": "d", "source": "s", "medium": "duplex"}
    return LinkProfile.model_validate(base | settings)


def check(delivered: float) -> LinkCheck:
    return LinkCheck(
        quantity="rate", direction="uplink", source="probe", asked=1, delivered=delivered, low=0.9, high=1.1
    )


class Proofs:
    """In place of the kernel: answers for each state, one after the other, and which were asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: float) -> None:
        self.asked: list[str] = []
        self._answers = iter(answers)
        monkeypatch.setattr(later_states, "prove_state", self._prove)

    def _prove(self, *arguments: object, process: object) -> tuple[LinkCheck, ...]:
        del process
        state = arguments[2]
        assert isinstance(state, LaterState)
        self.asked.append(state.change)
        return (check(next(self._answers)),)


def trial(
    folder: Path,
    number: int = 1,
    events: list[dict[str, Any]] | None = None,
    medium: MediumName = "tc",
    via: Via | None = None,
    **made: str,
) -> LaterStates:
    """What trial `number` of a campaign in `folder` knows.  via: of a load between stations, None = to a server.

    made: what made it, where that is not this machine's processor and the code as it stands.
    """
    here = origin()
    git = here.git.model_copy(update={name: value for name, value in made.items() if name == "code"})
    machine = here.machine.model_copy(update={name: value for name, value in made.items() if name == "cpu_model"})
    one = profile(rate=1e6, timeline=EVENTS if events is None else events)
    link = linkplan.plan(
        one, STATIONS, seed=number, seconds=6, timeline_s=6, made_by=medium, via=via or "access-point"
    )  # fmt: skip
    network = unbuilt(2, "peers")
    context = SimpleNamespace(
        settings=SimpleNamespace(window=SimpleNamespace(**WINDOW)),
        link=link,
        plans={network.emulated[0].plan.name: link},
        spec=SimpleNamespace(
            campaign_folder=str(folder),
            cell="only",
            trial=number,
            profile=one.model_dump(mode="json"),
            provenance=here.model_copy(update={"git": git, "machine": machine}),
        ),
        network=network,
        line=None,
        peer_ways=(STATIONS,) if via else (),
    )
    return LaterStates(context)  # type: ignore[arg-type]


SLOW, DARK = "rate 500000.0, at 1 s", "outage begins, at 2 s"


def test_the_second_trial_relies_on_what_the_first_has_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proofs = Proofs(monkeypatch, 1.0, 1.0)
    first = trial(tmp_path, 1)
    first.prove()
    first.remember()
    assert proofs.asked == [SLOW, DARK]
    second = trial(tmp_path, 2)
    second.prove()
    assert proofs.asked == [SLOW, DARK]
    ((checks,), (proven,)) = second.checks.values(), second.proofs.values()
    assert (checks, [(one.state, one.proven_by) for one in proven]) == (
        (), [(SLOW, "only/trial-001"), (DARK, "only/trial-001")],
    )  # fmt: skip


def test_what_did_not_hold_is_proven_again_and_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proofs = Proofs(monkeypatch, 0.5, 1.0, 0.6)
    first = trial(tmp_path, 1)
    first.prove()
    first.prove()
    assert proofs.asked == [SLOW, DARK, SLOW]
    (checks,) = first.checks.values()
    assert [one.delivered for one in checks] == [0.6, 1.0]
    first.remember()
    assert [one.change for one in proven_states(tmp_path)] == [DARK]


@pytest.mark.parametrize("what", ["kernel", "medium", "profile", "code", "cpu_model"])
def test_another_kernel_medium_profile_code_and_processor_have_their_own_proofs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    proofs = Proofs(monkeypatch, *[1.0] * 4)
    first = trial(tmp_path)
    first.prove()
    first.remember()
    if what == "kernel":
        monkeypatch.setenv(kernel.MARK, "lab")
    events = [*EVENTS, {"at": 3, "change": {"queue_bytes": 9000}}] if what == "profile" else EVENTS
    made = {what: "another"} if what in ("code", "cpu_model") else {}
    trial(tmp_path, 2, events, "line" if what == "medium" else "tc", **made).prove()
    assert proofs.asked == [SLOW, DARK] * 2


def test_half_a_line_costs_a_proof_and_no_more(tmp_path: Path) -> None:
    one = ProvenState(kernel="k", profile="p", state="s", change="c", trial="only/trial-001", checks=(check(1),))
    note_proven(tmp_path, [one])
    with (tmp_path / FILE).open("a") as file:
        file.write('{"kernel": "k", "pro\n')
    note_proven(tmp_path, [one])
    assert proven_states(tmp_path) == [one, one]
    assert proven_states(tmp_path / "elsewhere") == []


def test_a_trial_may_take_as_long_as_the_proofs_of_its_later_states(tmp_path: Path) -> None:
    def limit_of(rate: str, timeline: list[dict[str, Any]]) -> tuple[float, float]:
        link = {"name": "l", "description": "d", "source": "s", "medium": "duplex", "rate": "1 Mbit/s"}
        (tmp_path / "link.yaml").write_text(yaml.safe_dump(link | {"timeline": timeline}))
        path = scenario_file(tmp_path, network="link.yaml", window=WINDOW)
        folder = campaigns.create(scenarios.load(path), tmp_path / "results")
        campaign = read_campaign(folder)
        spec = runner.spec(folder, campaign, campaign.cells[0], campaign.order[0], origin())
        return launch.limit(spec, "host"), durations.own_s(campaign)["only"]

    change = [{"at": 1, "change": {"rate": "8 kbit/s"}}]
    longest_without, usual_without = limit_of("1 Mbit/s", [])
    assert (longest_without >= launch.HANG_LIMIT_S["host"] + 6, 6 <= usual_without < 7) == (True, True)
    longest, usual = limit_of("8 kbit/s", change)
    # Seconds that 150 small frames take at that rate, in either direction: by this alone four would be too few.
    frames_s = 2 * 150 * MIN_FRAME * 8 / 8e3
    assert longest > longest_without + later_states.TRIES * frames_s
    assert usual > 6 + frames_s


def test_a_trial_may_take_longer_where_paths_are_proven_be_they_to_a_plain_switch(tmp_path: Path) -> None:
    def limit_of(topology: object) -> float:
        path = scenario_file(tmp_path, topology=topology)
        folder = campaigns.create(scenarios.load(path), tmp_path / "results")
        campaign = read_campaign(folder)
        return launch.limit(runner.spec(folder, campaign, campaign.cells[0], campaign.order[0], origin()), "host")

    star, one, two = map(limit_of, ("star", {"kind": "cells", "cells": 1}, {"kind": "cells", "cells": 2}))
    assert one - star == two - one == launch._FURTHER_S["host"]


def test_a_link_without_a_timeline_needs_no_proofs() -> None:
    assert later_states.usual_seconds(Settings.model_construct(), profile(rate=1e6)) == 0


def test_an_older_record_of_a_link_is_read_and_says_nothing_of_later_states() -> None:
    old = check(1).model_dump(mode="json")
    del old["state"]
    proof = LinkProof.model_validate(
        {
            "profile": "l", "medium": "shared", "rate_uplink": 1, "rate_downlink": 1, "checks": [old],
            "loss_lists": [], "counters": [],
        }
    )  # fmt: skip
    assert proof.later is None
    assert proof.checks == (check(1),)


def test_ways_between_stations_have_their_own_proofs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proofs = Proofs(monkeypatch, *[1.0] * 6)
    for number, via in enumerate((None, "access-point", "ad-hoc", "ad-hoc"), start=1):
        one = trial(tmp_path, number, via=via)
        one.prove()
        one.remember()
    assert proofs.asked == [SLOW, DARK] * 3, "the second ad-hoc trial relies on the first"


def test_every_medium_has_its_later_states_proven_on_its_own_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sta1 is in the first cell, sta2 in the second, and each has an outage of its own."""
    network = unbuilt(2, {"kind": "cells", "cells": 2})
    events = [{"at": 1, "outage": 0.5, "stations": [name]} for name in STATIONS]
    plans = {
        one.plan.name: linkplan.plan(
            profile(rate=1e6, timeline=[event]), one.plan.stations, seed=1, seconds=6, timeline_s=6
        )
        for one, event in zip(network.emulated, events, strict=True)
    }
    asked: list[tuple[int, str]] = []

    def prove(
        plan: LinkPlan, ports: Ports, state: LaterState, ends: Callable[[str], Ends], pairs: object, *, process: object
    ) -> tuple[LinkCheck, ...]:
        del plan, pairs, process
        asked.append((ports.pid, *state.dark))
        assert ends(state.dark[0]).station_pid == network.node(state.dark[0]).pid
        return (check(1.0),)

    monkeypatch.setattr(later_states, "prove_state", prove)
    context = SimpleNamespace(
        settings=SimpleNamespace(window=SimpleNamespace(**WINDOW)), link=next(iter(plans.values())), plans=plans,
        spec=SimpleNamespace(campaign_folder=str(tmp_path), cell="only", trial=1, provenance=origin()),
        network=network, line=None, peer_ways=(),
    )  # fmt: skip
    found = LaterStates(context)  # type: ignore[arg-type]
    found.prove()
    assert asked == [(one.ports.pid, name) for one, name in zip(network.emulated, STATIONS, strict=True)]
    assert [len(some) for some in found.proofs.values()] == [1, 1]
