"""What a role finds installed it does not ask apt for.  No package is installed: those that could be do not exist."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from played import played

from stacks.declaration import read
from stacks.folders import role_folders

STACKS = Path(__file__).parents[2] / "stacks"
NONE_SUCH = "no-such-package-of-airwire"
# Says that every package is installed, for two architectures.
DPKG_QUERY = f"""exec {sys.executable} - "$@" <<'END'
import sys
format = sys.argv[2].removeprefix("--showformat=").replace("${{db:Status-Status}}", "installed")
print("".join(2 * format.replace("${{Package}}", package) for package in sys.argv[3:]), end="")
END"""


def defaults(role: str) -> dict[str, Any]:
    (path,) = [folder / role / "defaults" / "main.yml" for folder in role_folders() if (folder / role).is_dir()]
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    return found


class Machine:
    """This machine, with commands of ours before its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.commands, self.cache = folder, folder / "bin", folder / "cache"
        self.commands.mkdir()
        self.cache.mkdir()
        # The class archive is newer than any package, so that no broker is started to make it.
        (self.cache / "activemq.jsa").touch()

    def has(self, name: str, script: str) -> Path:
        path = self.commands / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def install(self, role: str, *words: str, **variables: Any) -> str:
        """What Ansible says of a role's packages."""
        host = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "ansible_become": False,
            "airwire_roles": [role],
            "airwire_address": "127.0.0.1",
            "airwire_scratch": str(self.folder / "trial"),
            "airwire_cache": str(self.cache),
        }
        inventory = self.folder / "inventory.json"
        inventory.write_text(json.dumps({"all": {"hosts": {"here": host | variables}}}))
        done = played(
            inventory, ["install"], *words, home=self.folder / "ansible",
            PATH=f"{self.commands}:{os.environ['PATH']}", ANSIBLE_ROLES_PATH=":".join(map(str, role_folders())),
        )  # fmt: skip
        return done.stdout + done.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_role_takes_the_java_that_the_declaration_takes() -> None:
    (java,) = [one for one in read(STACKS / "activemq", source="activemq").debian if one.name == "java"]
    role = defaults("activemq")
    assert java.pattern == role["activemq_java_pattern"]
    assert java.package == role["activemq_java_package"]
    assert java.version == (role["activemq_java"], "-version")
    asked = {one.package for one in read(STACKS / "activemq", source="activemq").debian}
    assert asked == {*role["activemq_packages"], role["activemq_java_package"]}


@pytest.mark.parametrize("words", [(), ("--check",)], ids=["for real", "in check mode"])
@pytest.mark.parametrize("version", ['openjdk version "17.0.15" 2025-04-15', 'openjdk version "21.0.2" 2024-01-16'])
def test_any_java_from_17_on_will_do(machine: Machine, version: str, words: tuple[str, ...]) -> None:
    java = machine.has("java-of-ours", f"echo '{version}' >&2")
    names = {"activemq_packages": ["dpkg"], "activemq_java": str(java), "activemq_java_package": NONE_SUCH}
    said = machine.install("activemq", *words, **names)
    assert re.search("changed=0 +unreachable=0 +failed=0 ", said), said


@pytest.mark.parametrize("role", ["activemq", "mosquitto"])
def test_a_package_of_two_architectures_is_there(machine: Machine, role: str) -> None:
    machine.has("dpkg-query", DPKG_QUERY)
    java = machine.has("java-of-ours", """echo 'openjdk version "17.0.15" 2025-04-15' >&2""")
    said = machine.install(role, **{f"{role}_packages": [NONE_SUCH, "dpkg"], "activemq_java": str(java)})
    assert re.search("changed=0 +unreachable=0 +failed=0 ", said), said


@pytest.mark.broker
@pytest.mark.root
@pytest.mark.parametrize("script", ["""echo 'openjdk version "11.0.20" 2023-07-18' >&2""", "exit 1", None])
def test_where_there_is_none_the_package_is_asked_for(machine: Machine, script: str | None) -> None:
    java = machine.has("java-of-ours", script) if script else machine.commands / "none"
    names = {"activemq_packages": ["dpkg"], "activemq_java": str(java), "activemq_java_package": NONE_SUCH}
    said = machine.install("activemq", **names)
    assert "TASK [activemq : Install ActiveMQ and Java]" in said
    # Where the lists of packages are old, apt fetches them first, over a network that may fail.
    assert f"No package matching '{NONE_SUCH}' is available" in said or "Failed to update apt cache" in said, said
