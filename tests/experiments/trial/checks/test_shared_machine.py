"""Who watches the machine, who shares it, and which scenarios may saturate it."""

from __future__ import annotations

import os
import threading

import pytest
from lab_runs import ROOT

from experiments.scenario import scenario as scenarios
from experiments.trial.checks.sharedmachine import VARIABLE, NeitherYesNorNo, shared_machine
from experiments.trial.observers.machinewatch import Reading, watching
from experiments.trial.observers.processes import Ours
from records.verdict import Check

LIMIT_S = 60


@pytest.mark.parametrize(("said", "shared"), [({}, False), ({VARIABLE: "0"}, False), ({VARIABLE: "1"}, True)])
def test_a_machine_is_shared_when_its_user_says_so(said: dict[str, str], *, shared: bool) -> None:
    assert shared_machine(said) is shared


def test_neither_yes_nor_no_is_refused_with_the_way_out() -> None:
    with pytest.raises(NeitherYesNorNo, match=rf"{VARIABLE}=maybe: say 1 .*; 0"):
        shared_machine({VARIABLE: "maybe"})


def test_the_machine_is_read_at_once_and_when_asked() -> None:
    told: list[Reading] = []
    came = threading.Semaphore(0)

    def tell(reading: Reading) -> None:
        told.append(reading)
        came.release()

    with watching(lambda: Ours(os.getpid()), tell) as look:
        assert came.acquire(timeout=LIMIT_S)
        look()
        assert came.acquire(timeout=LIMIT_S)
    assert told[1].t_ns > told[0].t_ns
    assert told[1].busy_s >= told[0].busy_s
    assert told[1].foreign_s >= told[0].foreign_s == 0


def test_a_trial_that_hears_no_more_ends_the_watch() -> None:
    ended = threading.Event()

    def tell(_: Reading) -> None:
        ended.set()
        raise BrokenPipeError

    with watching(lambda: Ours(os.getpid()), tell) as look:
        assert ended.wait(LIMIT_S)
        look()


@pytest.mark.parametrize(
    "file", ["experiments/scenarios/wireless-vs-wireline.yaml", "experiments/papers/gaddah_kunz/matrix.yaml"]
)
def test_on_the_wire_a_scenario_that_goes_as_fast_as_the_processor_says_so_by_name(file: str) -> None:
    settings = scenarios.load(ROOT / file).settings
    waived = {one.check: one.when for one in settings.checks.waive}
    assert waived[Check.MACHINE_USE] == waived[Check.SERVER_THREAD] == {"network": "wireline-100m"}
    assert not {Check.FOREIGN_LOAD, Check.STEAL, Check.CPU_QUOTA, Check.SOFTIRQ_DROPS} & set(waived)
