"""Which changes make other trials: those of what a trial consists of, committed or not, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.trial import revision
from records.manifest import Git

FILES = {
    "experiments/__init__.py": "",
    "experiments/measure.py": "window = 10\n",
    "experiments/own.yaml": "scenario: own\n",
    "emulation/__init__.py": "",
    "emulation/labkernel/__init__.py": "",
    "emulation/labkernel/init.sh": "exec agent\n",
    "emulation/profiles/lte.yaml": "name: lte\n",
    "stacks/activemq/stack.toml": "[stacks]\n",
    "stacks/activemq/roles/activemq/tasks/start.yml": "- start\n",
    "records/__init__.py": "",
    "records/manifest.py": "class Manifest: ...\n",
    "analysis/metrics.py": "x = 1\n",
    "lab/run.py": "x = 1\n",
    "tests/test_one.py": "x = 1\n",
    "docs/architecture.md": "As built.\n",
    "README.md": "Airwire\n",
}
OF_TRIALS = (
    "experiments/measure.py",
    "emulation/labkernel/init.sh",
    "stacks/activemq/stack.toml",
    "stacks/activemq/roles/activemq/tasks/start.yml",
    "records/manifest.py",
)
OTHERS = (
    "analysis/metrics.py",
    "lab/run.py",
    "tests/test_one.py",
    "docs/architecture.md",
    "README.md",
    "experiments/own.yaml",
    "emulation/profiles/lte.yaml",
)


Recorded = Callable[[Git], Git]


def git(root: Path, *words: str) -> str:
    identity = ("-c", "user.name=someone", "-c", "user.email=someone@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", str(root), *identity, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a commit of FILES, one level below another folder's."""
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def without_digest(then: Git) -> Git:
    """As campaigns of earlier versions have recorded it."""
    return then.model_copy(update={"code": ""})


@pytest.mark.parametrize("recorded", [lambda one: one, without_digest], ids=["with digest", "without"])
@pytest.mark.parametrize("name", OF_TRIALS)
@pytest.mark.parametrize("committed", [True, False])
def test_a_change_of_what_trials_consist_of_is_named(
    root: Path, name: str, recorded: Recorded, *, committed: bool
) -> None:
    then = revision.git(root)
    assert (then.dirty, revision.changed_since(then, root)) == (False, ())
    with (root / name).open("a") as file:
        file.write("# more\n")
    if committed:
        git(root, "commit", "-qam", "second")
    assert revision.changed_since(recorded(then), root) == (name,)
    now = revision.git(root)
    assert now.code != then.code
    assert now.dirty is not committed


@pytest.mark.parametrize("recorded", [lambda one: one, without_digest], ids=["with digest", "without"])
def test_docs_analysis_and_tests_may_change(root: Path, recorded: Recorded) -> None:
    then = revision.git(root)
    for name in OTHERS:
        with (root / name).open("a") as file:
            file.write("# more\n")
    git(root, "commit", "-qam", "second")
    (root / "analysis" / "new.py").write_text("x = 2\n")
    assert revision.git(root).revision != then.revision
    assert revision.changed_since(recorded(then), root) == ()


@pytest.mark.parametrize("recorded", [lambda one: one, without_digest], ids=["with digest", "without"])
def test_a_module_that_git_does_not_know_counts(root: Path, recorded: Recorded) -> None:
    then = revision.git(root)
    (root / "experiments" / "patch.py").write_text("x = 2\n")
    assert revision.changed_since(recorded(then), root) == ("experiments/patch.py",)
    assert revision.git(root).dirty


def test_campaigns_below_the_results_are_not_read(root: Path) -> None:
    then = revision.code_digest(root)
    (root / "results" / "small" / "c1").mkdir(parents=True)
    (root / "results" / "small" / "c1" / "stray.py").write_text("x = 2\n")
    assert revision.code_digest(root) == then


def test_a_file_that_is_gone_is_named(root: Path) -> None:
    then = revision.git(root)
    (root / "experiments" / "measure.py").unlink()
    assert revision.changed_since(then, root) == ("experiments/measure.py",)


def test_equal_files_are_equal_whatever_the_revision_is_called(root: Path) -> None:
    then = revision.git(root).model_copy(update={"revision": "0" * 40, "dirty": True})
    assert revision.changed_since(then, root) == ()


@pytest.mark.parametrize("code", ["", "another"])
@pytest.mark.parametrize(
    "update", [{"dirty": True}, {"revision": "0" * 40}, {"revision": "unknown"}, {"revision": "--output=stolen"}]
)
def test_what_cannot_be_compared_is_not_taken_for_equal(root: Path, code: str, update: dict[str, object]) -> None:
    then = revision.git(root).model_copy(update={"code": code, **update})
    assert revision.changed_since(then, root) is None
    assert not list(root.rglob("stolen*"))


def test_without_git_there_is_a_digest(root: Path) -> None:
    then = revision.git(root)
    subprocess.run(["rm", "-rf", str(root / ".git")], check=True)
    here = revision.git(root)
    assert here.code == then.code
    assert (here.revision, here.dirty) == ("unknown", True)
    assert revision.changed_since(then, root) == ()


def test_every_module_that_a_trial_imports_is_in_the_digest() -> None:
    """What a trial's process has in memory, and ours, is among the files of the digest."""
    listing = (
        "import sys, experiments.trial.trial_process, experiments.load.client, stacks.reference.__main__\n"
        "print(*sorted({getattr(one, '__file__', None) or '' for one in list(sys.modules.values())}), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", listing], capture_output=True, text=True, check=True, cwd=revision.ROOT
    )
    ours = {Path(line) for line in done.stdout.splitlines() if line.startswith(f"{revision.ROOT}/")}
    ours = {path for path in ours if ".venv" not in path.parts}
    assert len(ours) > 60
    assert ours <= set(revision.code_files())
