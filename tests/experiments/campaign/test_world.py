"""What may not stand in one campaign unasked, and what may."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from lab_runs import scenario_file
from stopping_world import finish

from experiments.campaign import campaign as campaigns
from experiments.campaign.linkbound import fullest, link_decides
from experiments.campaign.world import Now, differences
from experiments.scenario import scenario as scenarios
from experiments.trial.provenance import Provenance
from experiments.workers.place import Place
from experiments.workers.programs import digests
from records.campaign import Campaign, read_campaign
from records.filenames import LINK
from records.link import Counters, LinkProof, QueueCounters
from records.manifest import Git, Kernel, Machine
from records.store import Trial, trials, write_record
from records.verdict import Check, State
from records.workload import workload_of

HOST = "6.1.0-28-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)"
LAB = "6.1.176"
HERE = Provenance(
    git=Git(revision="ab" * 20, dirty=False, code="c0de"),
    kernel=Kernel(release=HOST, chosen="host"),
    machine=Machine(cpu_model="Intel Xeon", cores=2, memory_bytes=24 << 30, load_1m_before=0.0),
    versions={"activemq": "5.17.2", "java": "openjdk 17.0.13", "python": "3.11.2", "tcpdump": "4.99.3"},
)
BOTH: dict[str, Any] = {"network": ["nistnet-80211", "wireline-100m"], "trials": 2, "stack": "activemq"}
AIR, WIRE = "network=nistnet-80211", "network=wireline-100m"
IN_THE_LAB, BY_THE_LINE = Place("lab"), Place("host", "line")
THE_AIR_DECIDES = {"parallel": {"trials": 2, "when": {"network": "nistnet-80211"}}}


def begun(folder: Path, **settings: Any) -> Path:
    """A campaign of which the first round was run here."""
    path = campaigns.create(scenarios.load(scenario_file(folder, **BOTH | settings)), folder / "results")
    for planned in read_campaign(path).order[:2]:
        ran(path, planned.cell)
    return path


def ran(path: Path, cell: str, *, trial: int = 1, origin: Provenance = HERE, **more: Any) -> Trial:
    """A trial of this cell as it is after it was run there."""
    (planned,) = [one for one in read_campaign(path).order if (one.cell, one.trial) == (cell, trial)]
    plain = {"git": origin.git, "kernel": origin.kernel, "machine": origin.machine, "versions": origin.versions}
    stack = read_campaign(path).cells[0].settings["settings"]["stack"]
    return finish(path, planned, **{"stack": stack, **plain, **more})


def now(path: Path, *, places: dict[str, Place] | None = None, **changes: Any) -> Now:
    """Here, but for what changes of the provenance; `files` (or None) is what has changed in the code."""
    files = changes.pop("files", ("experiments/trial/measure.py",))
    origin = HERE.model_copy(update=changes)

    def changed(git: Git) -> tuple[str, ...] | None:
        return () if git == origin.git else files

    chosen = dict.fromkeys((cell.name for cell in read_campaign(path).cells), Place())
    return Now(origin=origin, places=chosen | (places or {}), lab_release=LAB, changed=changed)


def told(path: Path, here: Now, todo: tuple[str, ...] = (AIR, WIRE)) -> list[str]:
    return [one.text for one in differences(read_campaign(path), trials(path), todo, here)]


NEWER = Git(revision="cd" * 20, dirty=True, code="other")
OTHER_PROCESSOR = Machine(cpu_model="AMD EPYC", cores=2, memory_bytes=1 << 30, load_1m_before=9.0)
MORE_CORES = HERE.machine.model_copy(update={"cores": 8})


def test_the_same_world_is_not_asked_about(tmp_path: Path) -> None:
    path = begun(tmp_path)
    elsewhere = HERE.machine.model_copy(update={"memory_bytes": 1, "load_1m_before": 7.0})
    newer_tool = HERE.versions | {"tcpdump": "5.0"}
    assert told(path, now(path, machine=elsewhere, versions=newer_tool)) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"git": NEWER},
            "code that runs trials: revision abababababab in 2 trials, now cdcdcdcdcdcd with uncommitted changes (",
        ),
        (
            {"git": NEWER, "files": tuple(f"stacks/{n}.py" for n in range(6))},
            "stacks/0.py, stacks/1.py, stacks/2.py, stacks/3.py and 2 more)",
        ),
        ({"git": NEWER, "files": None}, "and in which files they differ is not known"),
        (
            {"kernel": Kernel(release=HOST.replace("119", "120"), chosen="host")},
            f"kernel: {HOST} in 2 trials, now {HOST.replace('119', '120')}",
        ),
        ({"machine": OTHER_PROCESSOR}, "processor: Intel Xeon, 2 cores in 2 trials, now AMD EPYC, 2 cores"),
        ({"machine": MORE_CORES}, "processor: Intel Xeon, 2 cores in 2 trials, now Intel Xeon, 8 cores"),
        ({"versions": HERE.versions | {"activemq": "6.1"}}, "activemq: 5.17.2 in 2 trials, now 6.1"),
        ({"versions": HERE.versions | {"java": "absent"}}, "java: openjdk 17.0.13 in 2 trials, now absent"),
        ({"places": {WIRE: IN_THE_LAB}}, "link emulated by: the machine's own kernel in 1 trial, now the lab kernel"),
        ({"places": {WIRE: BY_THE_LINE}}, "link emulated by: the machine's own kernel in 1 trial, now the line"),
    ],
)
def test_each_difference_is_told_by_itself(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    path = begun(tmp_path)
    (line,) = told(path, now(path, **changes))
    assert said in line


def test_a_program_that_is_another_one_now_and_a_file_that_it_is_given_are_told(tmp_path: Path) -> None:
    program, given = tmp_path / "measure", tmp_path / "with.conf"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    given.write_text("1")
    client = {"command": f"{program} {given} {tmp_path / 'none'}"}
    work = {"pattern": "command", "client": client}
    file = tmp_path / "scenario.yaml"
    file.write_text(yaml.safe_dump({"scenario": "own", "network": "wireline-100m", "trials": 2, "workload": work}))
    path = campaigns.create(scenarios.load(file), tmp_path / "results")
    first, _ = read_campaign(path).order
    ran(path, first.cell, origin=HERE.model_copy(update={"versions": HERE.versions | digests(workload_of(work))}))
    assert told(path, now(path), (first.cell,)) == []
    given.write_text("2")
    assert [line.split(":")[0] for line in told(path, now(path), (first.cell,))] == [str(given)]
    program.unlink()
    assert [line.split(":")[0] for line in told(path, now(path), (first.cell,))] == [str(program), str(given)]


def test_code_that_changed_where_no_trial_runs_is_the_same_world(tmp_path: Path) -> None:
    path = begun(tmp_path)
    assert told(path, now(path, git=NEWER, files=())) == []


def test_a_finished_cell_tells_that_the_kernel_is_another_one_now(tmp_path: Path) -> None:
    path = begun(tmp_path)
    assert told(path, now(path, places={AIR: IN_THE_LAB, WIRE: IN_THE_LAB}), todo=(AIR,)) == [
        "link emulated by: the machine's own kernel in 2 trials, now the lab kernel"
    ]


def test_cells_may_have_a_medium_each_and_a_trial_without_one_was_made_by_tc(tmp_path: Path) -> None:
    path = begun(tmp_path)
    air = Trial(path / AIR / "trial-001")
    assert air.manifest().medium == ""
    write_record(air.path / "manifest.json", air.manifest().model_copy(update={"medium": "line"}))
    assert told(path, now(path, places={AIR: BY_THE_LINE})) == []
    assert told(path, now(path)) == ["link emulated by: the line in 1 trial, now the machine's own kernel"]


def test_cells_may_have_a_kernel_each_as_long_as_each_keeps_its_own(tmp_path: Path) -> None:
    path = begun(tmp_path)
    air = Trial(path / AIR / "trial-001")
    in_the_lab = air.manifest().model_copy(update={"kernel": Kernel(release=f"{LAB} #1 Debian", chosen="lab")})
    write_record(air.path / "manifest.json", in_the_lab)
    assert told(path, now(path, places={AIR: IN_THE_LAB})) == []
    assert told(path, replace(now(path, places={AIR: IN_THE_LAB}), lab_release="6.12.1")) == [
        f"kernel: {LAB} #1 Debian in 1 trial, now 6.12.1"
    ]


def test_a_servers_version_matters_to_its_own_stack_only(tmp_path: Path) -> None:
    path = begun(tmp_path, stack="reference")
    assert told(path, now(path, versions=HERE.versions | {"activemq": "6.1", "java": "21"})) == []
    assert told(path, now(path, versions=HERE.versions | {"python": "3.13.1"})) == [
        "python: 3.11.2 in 2 trials, now 3.13.1"
    ]


def test_what_does_not_count_and_what_is_not_recorded_cannot_be_mixed_with(tmp_path: Path) -> None:
    path = campaigns.create(scenarios.load(scenario_file(tmp_path, **BOTH)), tmp_path / "results")
    ran(path, WIRE, state=State.INVALID, machine=OTHER_PROCESSOR, git=NEWER)
    (path / AIR / "trial-001").mkdir(parents=True)
    ran(path, AIR, trial=2, versions={})
    assert told(path, now(path)) == []


def test_a_campaign_without_anything_to_run_mixes_nothing(tmp_path: Path) -> None:
    path = begun(tmp_path)
    assert told(path, now(path, machine=OTHER_PROCESSOR), todo=()) == []


SAME_SERIES = Kernel(release="6.1.0-31-cloud-amd64 #1 SMP Debian 6.1.128-1", chosen="host")
NEXT_SERIES = Kernel(release="6.12.9-amd64 #1 SMP Debian 6.12.9-1", chosen="host")


def test_cells_that_the_link_decides_may_go_on_on_another_machine(tmp_path: Path) -> None:
    path = begun(tmp_path, **THE_AIR_DECIDES)
    other = now(path, machine=OTHER_PROCESSOR, kernel=SAME_SERIES)
    assert told(path, other, todo=(AIR,)) == []
    assert [line.split(":")[0] for line in told(path, other)] == ["kernel", "processor"]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"kernel": NEXT_SERIES}, "kernel"),
        ({"git": NEWER}, "code that runs trials"),
        ({"versions": HERE.versions | {"activemq": "6.1"}}, "activemq"),
        ({"places": {AIR: IN_THE_LAB}}, "link emulated by"),
        ({"places": {AIR: BY_THE_LINE}}, "link emulated by"),
    ],
)
def test_another_machine_must_run_the_same_code_on_the_same_series_of_kernels(
    tmp_path: Path, changes: dict[str, Any], what: str
) -> None:
    path = begun(tmp_path, **THE_AIR_DECIDES)
    (line,) = told(path, now(path, machine=OTHER_PROCESSOR, **changes), todo=(AIR,))
    assert line.startswith(f"{what}: ")


def proof(*, busy: float, overhead_s: float = 0.0, rate: float | None = 1e6, seconds: float = 10.0) -> LinkProof:
    """Of a shared link that was busy for this share of its window: one half with bits, one with frames' overhead."""
    packets = round(busy * seconds / 2 / overhead_s) if overhead_s else 0
    bits_s = busy * seconds / (2 if overhead_s else 1)
    air = QueueCounters(name="air", bytes=round(bits_s * (rate or 1e6) / 8), packets=packets, dropped=0)
    return LinkProof(
        profile="nistnet-80211", medium="shared", rate_uplink=rate, rate_downlink=rate, overhead_uplink=overhead_s,
        overhead_downlink=overhead_s, checks=(), loss_lists=(),
        counters=(Counters(during="window", seconds=seconds, queues=(air,), losses=()),),
    )  # fmt: skip


@pytest.mark.parametrize(("overhead_s", "rate"), [(0.0, 1e6), (826e-6, 11e6)])
def test_a_link_is_full_by_bits_and_by_what_each_frame_takes(overhead_s: float, rate: float) -> None:
    assert fullest(proof(busy=0.9, overhead_s=overhead_s, rate=rate)) == pytest.approx(0.9, rel=0.01)


@pytest.mark.parametrize(
    ("busy", "cpu", "rate", "decides"),
    [
        (0.8, 0.25, 1e6, True),
        (0.7, 0.05, 1e6, False),  # the link had time to spare
        (0.9, 0.35, 1e6, False),  # 70 % of one processor: a thread may have been at its limit
        (0.9, None, 1e6, False),
        (0.9, 0.05, None, False),
    ],
)
def test_trials_show_that_the_link_decides(
    tmp_path: Path, busy: float, cpu: float | None, rate: float | None, *, decides: bool
) -> None:
    path = begun(tmp_path)
    cell = next(one for one in read_campaign(path).cells if one.name == AIR)
    trial = ran(path, AIR, trial=2, machine_cpu=cpu)
    write_record(trial.path / LINK, proof(busy=busy, rate=rate))
    assert link_decides(cell, [trial]) is decides


def test_one_trial_that_does_not_show_it_is_enough_and_invalid_ones_show_nothing(tmp_path: Path) -> None:
    path = begun(tmp_path)
    campaign: Campaign = read_campaign(path)
    cell = next(one for one in campaign.cells if one.name == AIR)
    first, second = Trial(path / AIR / "trial-001"), ran(path, AIR, trial=2, machine_cpu=0.9)
    for trial in (first, second):
        write_record(trial.path / LINK, proof(busy=0.9))
    assert link_decides(cell, [first])
    assert not link_decides(cell, [first, second])
    spoiled = ran(path, WIRE, trial=2, state=State.INVALID, failed=Check.SERVER_CPU)
    write_record(spoiled.path / LINK, proof(busy=0.9))
    assert not link_decides(cell, [spoiled])
    assert not link_decides(cell, [])
