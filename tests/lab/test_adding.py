"""What docs/adding.md shows works as it stands, and needs nothing beside what it shows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Literal

import pytest
from lab_runs import assert_sound, only_trial

from analysis import measure
from analysis.findings import Findings
from analysis.measure import Measured
from analysis.metric import Metric
from analysis.metrics import METRICS, OWN
from analysis.plots import section
from analysis.plots.style import Plot
from experiments.load import pattern
from records.errors import CannotGoOn
from records.ledger import reconcile
from records.modules import tried
from records.workload import MESSAGE_PATTERNS, Pattern
from topologies import topology
from topologies.kinds import star

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests" / "support"
PACKAGES = ("analysis", "emulation", "experiments", "lab", "playbooks", "records", "stacks", "topologies")
TEXT = (ROOT / "docs" / "adding.md").read_text()
EXAMPLES: dict[str, str] = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", TEXT, re.DOTALL))
(SCENARIO,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
WORKLOAD, CLIENTS = "records/workload.py", "records/clients.py"


def with_branch(text: str) -> str:
    """The workload type with the example's word, branch and union."""
    word, branch, union = re.split(r"\n\n(?=class |Messages)", EXAMPLES[WORKLOAD].rstrip())
    imports = "\nfrom records.clients import "
    text = text.replace(imports, f"{imports}BulletinClients{imports}", 1)
    text = re.sub(r"(class Pattern\(StrEnum\):\n)", rf"\1{word}\n", text)
    added = union.rpartition(" | ")[2]
    return re.sub(r"^(Messages = .*)$", rf"{branch}\n\n\n\1 | {added}", text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with the examples in it."""
    tree = tmp_path_factory.mktemp("tree")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tree / package, ignore=shutil.ignore_patterns("*.pyc.*"))
    for name, text in EXAMPLES.items():
        old = (tree / name).read_text() if (tree / name).exists() else None
        assert (old is None) == (name not in {WORKLOAD, CLIENTS})
        added = with_branch(old) if name == WORKLOAD and old else f"{old or ''}\n\n{text}"
        (tree / name).write_text(added if old else text)
    return tree


@pytest.fixture(scope="module")
def said(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, SUPPORT / "with_examples.py", tmp_path_factory.mktemp("out")],
        env={"PYTHONPATH": f"{tree}:{SUPPORT}", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        cwd=tree, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_topology_is_a_module(said: dict[str, Any]) -> None:
    assert said["hosts"] == ["server1", "server2", "gw", "sta1", "sta2"]
    assert said["segments"] == ["medium", "lan"]
    assert "'routers' is no key of topology gateway, which has kind, servers" in said["refused"]


@pytest.mark.root
def test_the_topology_carries_the_scenario_that_is_shown(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "toy.yaml").write_text(SCENARIO)
    done = subprocess.run(
        [sys.executable, "-m", "lab", "run", tmp_path / "toy.yaml", "--no-report", "--results", tmp_path / "results"],
        env=os.environ | {"PYTHONPATH": str(tree)}, cwd=tree, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    trial = only_trial(tmp_path / "results")
    assert done.returncode in (0, 3), done.stdout + done.stderr
    assert_sound(trial.verdict())
    manifest = trial.manifest()
    assert [node.name for node in manifest.nodes if node.role == "server"] == ["server1", "server2"]
    found = reconcile(trial.table("published"), trial.table("delivered"), manifest.workload.audiences)
    assert (found.closes, found.lost) == (True, 0)
    assert found.delivered > 0


def test_a_pattern_is_a_module_and_its_branch_of_the_workload(said: dict[str, Any]) -> None:
    assert said["class"] == "bulletin, nonpersistent"
    assert said["delivered"] == 3 * said["sent"] > 0
    assert said["amiss"] == 0
    assert re.search(r"\.yaml:\d+: .*4 senders among 3 members: at most 3 senders", said["too_many"])


def test_a_metric_is_a_module(said: dict[str, Any]) -> None:
    assert said["declared"] == "Mean body"
    assert said["measured"] == [100.0, 100.0]
    assert "body_mean_bytes" in said["compared"]
    assert said["partial"] == [{}, {}]


def test_a_plot_is_a_module(said: dict[str, Any]) -> None:
    assert said["sections"]["Latency against throughput"] == ["latency-against-throughput"]
    assert "Throughput and link use by cell" in said["sections"]


def test_a_metric_that_nobody_declares_is_refused() -> None:
    class Undeclared:
        METRICS = (METRICS["retries"],)

        def measure(self, trial: Measured) -> Mapping[str, float | None]:
            del trial
            return {"retries": None, "tries": 1.0}

    nothing: Any = None
    with pytest.raises(ValueError, match="metric 'tries' is not among the METRICS of its module: retries"):
        measure.measured(Undeclared(), nothing)


def test_a_module_that_lacks_something_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lacking_sections").mkdir()
    (tmp_path / "lacking_sections" / "__init__.py").touch()
    (tmp_path / "lacking_sections" / "unnamed.py").write_text("def draw(findings): return []")
    monkeypatch.syspath_prepend(tmp_path)
    told = "unnamed.py: has no TITLE; a module there has TITLE and draw"
    assert tried(import_module("lacking_sections"), having=("TITLE", "draw")) == ({}, {"unnamed": told})


def test_a_metric_that_fails_is_told_with_its_line() -> None:
    class Failing:
        METRICS = (METRICS["retries"],)

        def measure(self, trial: Measured) -> Mapping[str, float | None]:
            raise KeyError(trial)

    nothing: Any = None
    with pytest.raises(ValueError, match=r"^test_adding\.py:\d+: KeyError: None$"):
        measure.measured(Failing(), nothing)


def test_a_plot_that_fails_is_told_in_its_section() -> None:
    class Failing:
        TITLE = "Failing"

        def draw(self, findings: Findings) -> list[Plot]:
            raise ZeroDivisionError(findings)

    nothing: Any = None
    found = section.section_of(Failing(), nothing)
    assert found.title == "Failing"
    assert not found.plots
    assert re.fullmatch(r"test_adding\.py:\d+: ZeroDivisionError: None", found.failed)


def test_what_was_drawn_before_a_plot_failed_stands() -> None:
    class Failing:
        TITLE = "Failing"

        def draw(self, findings: Findings) -> Iterator[Plot]:
            yield plot_of("sound")
            raise ZeroDivisionError(findings)

    class Nothing:
        TITLE = "Nothing"

        def draw(self, findings: Findings) -> Iterator[Any]:
            yield plot_of("sound")
            yield findings

    nothing: Any = None
    found = section.section_of(Failing(), nothing)
    assert [plot.name for plot in found.plots] == ["sound"]
    assert re.fullmatch(r"test_adding\.py:\d+: ZeroDivisionError: None", found.failed)
    found = section.section_of(Nothing(), nothing)
    assert [plot.name for plot in found.plots] == ["sound"]
    assert "TypeError: draw gave None, and has to give Plots alone" in found.failed


def plot_of(name: str, title: str = "") -> Plot:
    return Plot(name=name, title=title, svg=b"", png=b"", about="")


def test_a_plot_with_a_name_that_is_taken_is_left_out_and_both_are_named() -> None:
    def of(title: str, *names: str, failed: str = "") -> section.Section:
        return section.Section(title=title, plots=tuple(map(plot_of, names)), failed=failed)

    given = [of("One", "a", "b"), of("Two", "c", "b", failed="line 3"), of("Three", "c"), of("Four", "answer")]
    found = list(section.apart(given, [plot_of("answer", "The answer")]))
    assert [[plot.name for plot in one.plots] for one in found] == [["a", "b"], ["c"], [], []]
    told = "has that name too, and each is a file of its own: one of the two needs another name"
    assert [one.failed for one in found] == [
        "", f"line 3; plot 'b', since a plot of the section 'One' {told}",
        f"plot 'c', since a plot of the section 'Two' {told}", f"plot 'answer', since the plot 'The answer' {told}",
    ]  # fmt: skip


def test_a_pattern_without_a_module_is_named() -> None:
    ring: Any = SimpleNamespace(value="ring")
    with pytest.raises(NotImplementedError, match=r"there is no experiments/load/patterns/ring\.py"):
        pattern.module(ring)


def test_faults_of_declared_metrics_are_named() -> None:
    module, one = ModuleType("uneven"), METRICS["retries"]
    for metrics, why in (
        (one, "METRICS is a Metric, and has to be a tuple"),
        (("retries",), "METRICS has a str in it, and has to be a tuple of Metric"),
        ((one, one), "metric 'retries' is declared in uneven.py itself already, and needs another name"),
        ((METRICS["lost"],), "metric 'lost' is declared in analysis/metrics.py already, and needs another name"),
    ):
        vars(module).update(METRICS=metrics, __file__="/somewhere/uneven.py")
        with pytest.raises(ValueError, match=f"^uneven\\.py: {why}$"):
            measure.check_metrics(module, {"lost": "analysis/metrics.py"})
    word: Any = "ms"
    with pytest.raises(ValueError, match=r"metric 'wait': unit 'ms' is not one of 1/s, bit/s, s, share, B, count"):
        Metric(name="wait", label="Wait", unit=word, better=None, about="time")
    with pytest.raises(ValueError, match=r"metric 'wait': better 'ms' is not one of higher, lower, None"):
        Metric(name="wait", label="Wait", unit="s", better=word, about="time")
    with pytest.raises(ValueError, match=r"metric 'wait': name, label and about have to be texts, and a label"):
        Metric(name="wait", label="", unit="s", better=None, about="time")


def test_a_topology_without_a_name_is_named() -> None:
    class Nameless(topology.Topology):
        kind: Literal["it"]

    module = ModuleType("topologies.kinds.nameless")
    Nameless.__module__ = module.__name__
    vars(module)["Nameless"] = Nameless
    with pytest.raises(ValueError, match=r"topologies\.kinds\.nameless: Nameless\.kind has no value; write kind: "):
        topology.kinds_of([module])


def test_no_two_metrics_of_our_own_have_one_name() -> None:
    names = [metric.name for metric in OWN]
    assert sorted(set(names)) == sorted(names)


def test_a_topology_that_cannot_be_imported_ends_with_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "faulty_kinds").mkdir()
    (tmp_path / "faulty_kinds" / "__init__.py").touch()
    (tmp_path / "faulty_kinds" / "ring.py").write_text("\nfrom topologies import nowhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(topology, "kinds", import_module("faulty_kinds"))
    topology.known.cache_clear()
    with pytest.raises(CannotGoOn, match=r"^topologies/kinds/ring\.py:2: ImportError: cannot import name 'nowhere'"):
        topology.parse("star")


def test_two_topologies_of_one_kind_are_refused() -> None:
    class Twin(star.Star):
        pass

    twin = ModuleType("topologies.kinds.twin")
    Twin.__module__ = twin.__name__
    vars(twin)["Twin"] = Twin
    with pytest.raises(ValueError, match=r"topology 'star' is in topologies\.kinds\.star and topologies\.kinds\.twin"):
        topology.kinds_of([star, twin])


@pytest.mark.parametrize("one", sorted(MESSAGE_PATTERNS))
def test_every_pattern_has_its_module(one: Pattern) -> None:
    found = pattern.module(one)
    assert found.NEEDS
    assert callable(found.produce)
    assert callable(found.consume)
