"""Roles on another machine, where Ansible connects as an ordinary user: what is made there is that user's.

The machine is this one, and the connection a plugin of the tests (connections/ordinary.py) instead of SSH.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from played import played

pytestmark = pytest.mark.root

ROOT = Path(__file__).parents[2]
PLAYBOOKS = ROOT / "playbooks"
USER = 65534
BECOME = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do [ "$1" = -u ] && shift; shift; done
exec "$@"
"""


GOOD = "station-1"  # the first host: what is done once for all is done for it
PLANTED = {"station-2": "airwire_scratch", "station-3": "client_home"}


@dataclass(frozen=True)
class Machine:
    """A folder that everybody may look into, with one for what is made for each host, one for what Ansible keeps here,
    and one that everybody may write to, where somebody else has put a link for each host of PLANTED.
    """

    folder: Path

    @property
    def here(self) -> Path:
        return self.folder / "here"

    @property
    def everybodys(self) -> Path:
        return self.folder / "tmp"

    @property
    def victim(self) -> Path:
        return self.folder / "victim"

    def git(self, *words: str) -> None:
        """Do something in the lab's repository."""
        own = ["-C", str(self.folder / "lab"), "-c", "user.name=n", "-c", "user.email=e"]
        subprocess.run(["git", *own, *words], check=True)

    def play(self, *actions: str, only: str = "all") -> subprocess.CompletedProcess[str]:
        """Take actions for clients on these hosts."""
        hosts = {GOOD: {}} | {host: {name: str(self.everybodys / host)} for host, name in PLANTED.items()}
        inventory = self.folder / "inventory.json"
        inventory.write_text(
            json.dumps({"all": {"hosts": {host: self._host(host) | own for host, own in hosts.items()}}})
        )
        plugins = f"{Path(__file__).parent / 'connections'}:{PLAYBOOKS / 'plugins' / 'connection'}"
        return played(
            inventory, actions, "--limit", only, home=self.here, TMPDIR=str(self.here),
            ANSIBLE_CONNECTION_PLUGINS=plugins,
            # The plugin's parent takes itself for connected as the user of this process.
            ANSIBLE_BECOME_ALLOW_SAME_USER="1",
        )  # fmt: skip

    def _host(self, name: str) -> dict[str, Any]:
        far = self.folder / name
        return {
            "ansible_connection": "ordinary",
            "ansible_python_interpreter": "/usr/bin/python3",
            "ansible_remote_tmp": str(self.folder / "remote-tmp"),
            "ansible_become_exe": str(self.folder / "become"),
            "airwire_roles": ["client"],
            "airwire_address": "127.0.0.1",
            "airwire_scratch": str(far / "trial"),
            "airwire_cache": str(far / "cache"),
            "airwire_source": str(self.folder / "lab"),
            "client_home": str(far / "client"),
            "client_packages": ["dpkg"],
            "client_requirements": str(self.folder / "requirements.lock"),
        }


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """With a repository that has the client's module, and no package to install."""
    with tempfile.TemporaryDirectory(prefix="airwire-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "here").mkdir()
        (folder / "remote-tmp").mkdir()
        os.chown(folder / "remote-tmp", USER, USER)
        (folder / "become").write_text(BECOME)
        (folder / "become").chmod(0o755)
        (folder / "requirements.lock").touch()
        client = ("experiments/__init__.py", "experiments/load/__init__.py", "experiments/load/client.py")
        for module in (*client, "stacks/former/stack.toml"):
            (folder / "lab" / module).parent.mkdir(parents=True, exist_ok=True)
            (folder / "lab" / module).touch()
        found = Machine(folder)
        found.git("init", "-q")
        found.git("add", ".")
        found.git("commit", "-qm", "a client")
        found.everybodys.mkdir()
        found.everybodys.chmod(0o1777)
        found.victim.mkdir(mode=0o700)
        for host in PLANTED:
            (found.everybodys / host).symlink_to(found.victim)
            os.chown(found.everybodys / host, 12345, 12345, follow_symlinks=False)
        yield found


@pytest.fixture(scope="module")
def done(machine: Machine) -> subprocess.CompletedProcess[str]:
    return machine.play("install", "configure", "stop")


def test_what_is_made_there_belongs_to_the_user_that_connects(
    machine: Machine, done: subprocess.CompletedProcess[str]
) -> None:
    assert re.search(rf"^{GOOD} .* unreachable=0 +failed=0 ", done.stdout, re.MULTILINE), done.stdout + done.stderr
    far = machine.folder / GOOD
    made = [path for path in far.rglob("*") if not path.is_symlink()]
    assert {far / "trial" / GOOD / "client", far / "client" / "venv" / "bin"} <= set(made)
    assert (far / "client" / "source" / "experiments" / "load" / "client.py").is_file()
    assert [path for path in made if path.stat().st_uid != USER] == []
    for name in ("trial", "cache"):
        assert (far / name).stat().st_mode & 0o777 == 0o700
    assert list(machine.here.glob("*.airwire")) == [], "the packed lab was left here"


@pytest.mark.parametrize("host", PLANTED)
def test_a_link_planted_for_what_root_makes_is_refused(
    machine: Machine, done: subprocess.CompletedProcess[str], host: str
) -> None:
    assert done.returncode != 0
    assert re.search(rf"^{host} .* unreachable=0 +failed=1 ", done.stdout, re.MULTILINE), done.stdout
    assert f"{machine.everybodys / host} already exists as a link" in done.stdout
    assert machine.victim.stat().st_uid == 0
    assert list(machine.victim.iterdir()) == []


def test_the_copy_is_replaced_when_the_lab_has_changed_and_nothing_stays_there_that_it_has_deleted(
    machine: Machine, done: subprocess.CompletedProcess[str]
) -> None:
    assert done.returncode != 0, "of the planted links"
    client = machine.folder / GOOD / "client"
    source, cached = client / "source", client / "source" / "stacks" / "former" / "__pycache__"
    assert (source / "stacks" / "former" / "stack.toml").is_file()
    cached.mkdir()  # of a process of root's

    def played() -> int:
        said = machine.play("install", only=GOOD).stdout
        assert re.search(rf"^{GOOD} .* unreachable=0 +failed=0 ", said, re.MULTILINE), said
        assert {path.name for path in client.glob("source*")} == {"source"}
        assert (source / "experiments" / "load" / "client.py").is_file()
        return source.stat().st_ino

    before = source.stat().st_ino
    assert played() == before, "what runs from it would be disturbed"
    assert cached.is_dir()
    machine.git("rm", "-q", "-r", "stacks/former")
    machine.git("commit", "-qm", "without a stack")
    assert played() != before
    assert not (source / "stacks").exists()
    assert [path for path in source.rglob("*") if path.stat().st_uid != USER] == []
    (source / "experiments" / "load" / "client.py").unlink()
    played()


def test_no_example_has_a_fixed_path_where_everybody_may_write() -> None:
    for path in [*PLAYBOOKS.rglob("*.yml"), PLAYBOOKS / "ansible.cfg"]:
        found = list(yaml.safe_load_all(path.read_text())) if path.suffix == ".yml" else [path.read_text()]
        assert "/tmp/" not in json.dumps(found), path  # noqa: S108


def test_that_servers_ask_nobody_who_he_is_is_said_where_others_may_reach_them() -> None:
    example = " ".join((PLAYBOOKS / "inventories" / "ssh-example.yml").read_text().split())
    assert "Servers listen on airwire_address and ask nobody who he is" in example
    (settings,) = (ROOT / "stacks" / "mosquitto").rglob("mosquitto.conf.j2")
    before, anybody, _ = settings.read_text().partition("allow_anonymous true")
    assert anybody
    assert before.startswith("# Without authentication")
    assert "On a target of SSH" in before
