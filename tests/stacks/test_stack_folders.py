"""Stacks are found where they lie, and in packages that name themselves; a bad package takes no other with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_runs import scenario_file
from stack_packages import LACKING, TOML, installed, write

from experiments.scenario.scenario import ScenarioError, load
from experiments.trial import provenance
from stacks import folders, registry
from stacks.declaration import Debian, DeclarationError
from stacks.installed import missing, needs, version
from stacks.registry import UnknownStackError, UnusableStackError, get, names, stacks

OURS = {"activemq", "activemq-openwire", "null", "reference", "reference-peers", "zeromq"}
DECLARED = "class Other:\n name, patterns, guarantees, in_client = 'other', frozenset(), frozenset(), True\n"


def test_ours_are_sound_and_every_service_has_its_role() -> None:
    roles = {role for one in folders.own() for role in one.roles}
    for declared in folders.own():
        for name in declared.stacks:
            assert {service.role for service in get(name).services()} <= roles


def test_the_stack_of_a_package_is_one_like_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with installed(tmp_path, monkeypatch):
        write(tmp_path, {"airwire_other/roles/other/tasks/start.yml": "[]"})
        assert OURS | {"other"} <= set(names())
        assert get("other").name == "other"
        assert folders.role_folders()[-1] == tmp_path / "airwire_other" / "roles"
        assert LACKING in [package.package for package in missing(folders.found().declared)]
        told = provenance.gather().versions
        assert told[LACKING] == "absent"
        assert told["airwire-other"].startswith("1.0 (code ")
        assert needs("other", ("other",), folders.found()).names == ("airwire-other", LACKING)
    assert "other" not in names()


def test_a_change_of_a_package_is_a_change_of_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with installed(tmp_path, monkeypatch):
        before = provenance.gather().versions["airwire-other"]
        write(tmp_path, {"airwire_other/more.py": "x = 1\n"})
        assert provenance.gather().versions["airwire-other"] != before


@pytest.mark.parametrize(
    ("driver", "message"),
    [
        ("import no_such_module_of_airwire", "ModuleNotFoundError: No module named 'no_such_module_of_airwire'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("Other = 3", "TypeError: 'int' object is not callable"),
        ("", "AttributeError: .*has no attribute 'Other'"),
        ("class Other: name = 'another'", "its name is 'another'"),
        ("class Other: name, patterns = 'other', ['pubsub']", r"patterns is \['pubsub'\], and has to be a frozenset"),
        (
            "class Other: name, patterns, guarantees = 'other', frozenset(), frozenset({'everything'})",
            r"guarantees is frozenset\(\{'everything'\}\), and has to be a frozenset of Guarantee",
        ),
        (
            "class Other: name, patterns, guarantees, in_client = 'other', frozenset(), frozenset(), 1",
            "in_client is 1, and has to be True or False",
        ),
        (
            DECLARED + " services = None\n def connect(self): ...",
            r"it has no services and no why_not \(stacks\.driver\.Stack\)",
        ),
        (
            DECLARED + " def services(self): return ['here']\n why_not = connect = services",
            "services\\(\\) has 'here', and each has to be a Service",
        ),
    ],
)
def test_a_driver_that_does_not_work_is_named_and_the_others_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver: str, message: str
) -> None:
    with installed(tmp_path, monkeypatch, driver=driver):
        said = rf"stack 'other' of package airwire-other cannot be used: airwire_other\.driver:Other: {message}"
        with pytest.raises(UnusableStackError, match=said):
            get("other")
        assert set(stacks()) >= OURS
        assert "other" not in stacks()


def test_what_a_driver_needs_of_python_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toml = f'{TOML}[[python]]\nrequires = "no-such-module-of-airwire==1"\n'
    said = pytest.raises(UnusableStackError, match=r"it needs no-such-module-of-airwire==1; `lab stacks` says")
    with installed(tmp_path, monkeypatch, toml=toml, driver="import no_such_module_of_airwire"), said:
        get("other")


@pytest.mark.parametrize(
    ("toml", "entry", "message"),
    [
        ("[stack]", "", r"package airwire-other: .*airwire_other/stack\.toml: stack: no such key"),
        (TOML.replace("other =", "null ="), "", "package airwire-other: .*brings stack 'null', which stacks/null has"),
        (TOML, "no_such_package_of_airwire", "'no_such_package_of_airwire' is not a package that is installed"),
        (TOML, "airwire_other:Other", "'airwire_other:Other' is not a package that is installed"),
    ],
)
def test_a_package_that_declares_nonsense_is_named_and_the_others_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toml: str, entry: str, message: str
) -> None:
    with installed(tmp_path, monkeypatch, toml=toml, entry=entry):
        assert len(folders.found().problems) == 1
        with pytest.raises(UnknownStackError, match=message):
            get("other")
        assert set(stacks()) >= OURS


def test_two_folders_of_ours_with_one_stack_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path, {f"{name}/stack.toml": '[stacks]\nsame = "a:B"\n'})
    with pytest.raises(DeclarationError, match=r"two/stack\.toml: brings stack 'same', which .*/one has"):
        folders.ours(tmp_path)


def package(*command: str, pattern: str = r"version (\S+)") -> Debian:
    return Debian(package="one", daemon=False, name="one", version=command, pattern=pattern)


def test_a_version_is_read_wherever_it_is_printed_and_however_the_command_ends() -> None:
    assert version(package("sh", "-c", "echo one version 2.0.11; exit 3")) == "2.0.11"
    assert version(package("sh", "-c", "echo version 1 >&2")) == "1"
    assert version(package("sh", "-c", "echo nothing")) is None
    assert version(package("no-such-command-of-airwire")) is None


def test_looking_for_packages_is_not_needed_for_a_stack_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> folders.Found:
        raise AssertionError

    monkeypatch.setattr(folders, "found", found)
    assert registry.get("reference").name == "reference"


def test_a_scenario_that_asks_for_a_broken_stack_is_told_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with installed(tmp_path, monkeypatch, driver="import no_such_module_of_airwire"):
        with pytest.raises(ScenarioError, match=r"scenario\.yaml:\d+: stack: stack 'other' of package airwire-oth"):
            load(scenario_file(tmp_path, stack="other"))
        assert load(scenario_file(tmp_path, stack="reference")).cells
