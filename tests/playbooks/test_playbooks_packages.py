"""What a role finds installed it does not ask apt for.  No package is installed: those that could be do not exist."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
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

    def host(self, role: str, **variables: Any) -> dict[str, Any]:
        """What Ansible is told of this machine, under one of the names that it has in a play."""
        return {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "ansible_become": False,
            "airwire_roles": [role],
            "airwire_address": "127.0.0.1",
            "airwire_scratch": str(self.folder / "trial"),
            "airwire_cache": str(self.cache),
        } | variables

    def install(self, hosts: Mapping[str, Mapping[str, Any]], *words: str) -> str:
        """What Ansible says of packages.  A play costs much more than a host of it, so one has several."""
        inventory = self.folder / "inventory.json"
        inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
        done = played(
            inventory, ["install"], *words, home=self.folder / "ansible",
            PATH=f"{self.commands}:{os.environ['PATH']}", ANSIBLE_ROLES_PATH=":".join(map(str, role_folders())),
        )  # fmt: skip
        return done.stdout + done.stderr


def nothing_was_to_do(said: str, host: str) -> bool:
    return bool(re.search(rf"^{host} .* changed=0 +unreachable=0 +failed=0 ", said, re.MULTILINE))


def test_the_role_takes_the_java_that_the_declaration_takes() -> None:
    (java,) = [one for one in read(STACKS / "activemq", source="activemq").debian if one.name == "java"]
    role = defaults("activemq")
    assert java.pattern == role["activemq_java_pattern"]
    assert java.package == role["activemq_java_package"]
    assert java.version == (role["activemq_java"], "-version")
    asked = {one.package for one in read(STACKS / "activemq", source="activemq").debian}
    assert asked == {*role["activemq_packages"], role["activemq_java_package"]}


NEW = {"java-17": 'openjdk version "17.0.15" 2025-04-15', "java-21": 'openjdk version "21.0.2" 2024-01-16'}


@pytest.fixture(scope="module", params=[(), ("--check",)], ids=["for real", "in check mode"])
def with_java(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said where there is a Java, host by host of NEW."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    names = {"activemq_packages": ["dpkg"], "activemq_java_package": NONE_SUCH}
    javas = {host: machine.has(host, f"echo '{version}' >&2") for host, version in NEW.items()}
    hosts = {host: machine.host("activemq", activemq_java=str(java), **names) for host, java in javas.items()}
    return machine.install(hosts, *request.param)


@pytest.mark.parametrize("host", NEW)
def test_any_java_from_17_on_will_do(with_java: str, host: str) -> None:
    assert nothing_was_to_do(with_java, host), with_java


@pytest.fixture(scope="module")
def of_two_architectures(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said where every package is there for two architectures, by hosts that are named as their roles."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.has("dpkg-query", DPKG_QUERY)
    java = machine.has("java-of-ours", f"echo '{NEW['java-17']}' >&2")
    packages = [NONE_SUCH, "dpkg"]
    mosquitto = machine.host("mosquitto", mosquitto_packages=packages)
    activemq = machine.host("activemq", activemq_packages=packages, activemq_java=str(java))
    return machine.install({"activemq": activemq, "mosquitto": mosquitto})


@pytest.mark.parametrize("role", ["activemq", "mosquitto"])
def test_a_package_of_two_architectures_is_there(of_two_architectures: str, role: str) -> None:
    assert nothing_was_to_do(of_two_architectures, role), of_two_architectures


UNFIT = {"java-11": """echo 'openjdk version "11.0.20" 2023-07-18' >&2""", "java-fails": "exit 1", "java-none": None}


@pytest.fixture(scope="module")
def without_java(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said where no Java will do, host by host of UNFIT; one after another, as apt has a lock."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    names = {"activemq_packages": ["dpkg"], "activemq_java_package": NONE_SUCH}
    hosts = {}
    for host, script in UNFIT.items():
        java = machine.has(host, script) if script else machine.commands / "none"
        hosts[host] = machine.host("activemq", activemq_java=str(java), **names)
    return machine.install(hosts, "--forks", "1")


@pytest.mark.broker
@pytest.mark.root
@pytest.mark.parametrize("host", UNFIT)
def test_where_there_is_none_the_package_is_asked_for(without_java: str, host: str) -> None:
    assert "TASK [activemq : Install ActiveMQ and Java]" in without_java
    # Where the lists of packages are old, apt fetches them first, over a network that may fail.
    why = f"No package matching '{NONE_SUCH}' is available|Failed to update apt cache"
    assert re.search(rf"^fatal: \[{host}\]: .*({why})", without_java, re.MULTILINE), without_java
