"""Deploying through Ansible into real network namespaces, and what the user sees when it fails."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from played import played

from emulation.kernel.namespace import throwaway_namespace
from experiments.deploy import (
    PLAYBOOKS,
    Action,
    DeployError,
    RoleCall,
    Target,
    apply,
    inventory,
    role_call,
    service_folder,
    service_pid,
)
from stacks.driver import Service
from stacks.folders import role_folders

pytestmark = [pytest.mark.root, pytest.mark.broker]

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture(scope="module")
def namespace() -> Iterator[int]:
    with throwaway_namespace() as pid:
        yield pid


def target(pid: int, role: str, variables: Mapping[str, Any] | None = None, *, name: str = "node") -> Target:
    return Target(name=name, address="127.0.0.1", pid=pid, roles=(RoleCall(role=role, variables=variables or {}),))


def refused(action: tuple[Action, ...], node: Target, scratch: Path, *, timeout_s: float = 60) -> DeployError:
    with pytest.raises(DeployError) as caught:
        apply(action, [node], scratch=scratch, timeout_s=timeout_s)
    assert processes(str(scratch)) == []
    return caught.value


def processes(text: str) -> list[str]:
    """Command lines of the processes that mention a text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in command:
            found.append(command)
    return found


def hanging(scratch: Path) -> dict[str, Any]:
    """Variables that have role `reference` start a program that never gets ready."""
    program = scratch / "hang"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'import time; time.sleep(1000)' {scratch}\n")
    program.chmod(0o755)
    return {"reference_python": str(program), "reference_ready_timeout_s": 900}


def outside() -> set[Path]:
    """What Ansible's modules have left where everybody's temporary files are."""
    return set(Path(tempfile.gettempdir()).glob("ansible_*"))


def test_every_role_has_every_action() -> None:
    found = [role for folder in (PLAYBOOKS / "roles", *role_folders()) for role in sorted(folder.iterdir())]
    assert {"activemq", "client", "reference"} <= {role.name for role in found}
    for role in found:
        for action in get_args(Action):
            assert (role / "tasks" / f"{action}.yml").is_file(), f"{role.name} cannot {action}"


def test_the_playbook_and_the_example_inventory_for_ssh_hosts_can_be_read(tmp_path: Path) -> None:
    done = played("inventories/ssh-example.yml", get_args(Action), "--syntax-check", home=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_service_runs_in_its_nodes_namespace_until_it_is_stopped(namespace: int, tmp_path: Path) -> None:
    service = Service(name="ref-a", role="reference", port=7411, variables={"reference_faults": ["drop=100"]})
    node = Target(name="node", address="127.0.0.1", pid=namespace, roles=(role_call(service),))
    apply(["install", "configure", "start"], [node], scratch=tmp_path, timeout_s=60)
    pid = service_pid(scratch=tmp_path, target="node", name="ref-a")
    assert os.readlink(f"/proc/{pid}/ns/net") == os.readlink(f"/proc/{namespace}/ns/net")
    assert b"--port\x007411\0--fault=drop=100\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    apply(["reset"], [node], scratch=tmp_path, timeout_s=60)
    again = service_pid(scratch=tmp_path, target="node", name="ref-a")
    assert again != pid
    apply(["stop"], [node], scratch=tmp_path, timeout_s=60)
    assert processes("--port 7411") == []
    with pytest.raises(DeployError, match="ref-a is not running"):
        service_pid(scratch=tmp_path, target="node", name="ref-a")


def test_every_client_gets_a_folder_that_others_cannot_read(namespace: int, tmp_path: Path) -> None:
    names = ["station-1", "station-2"]
    nodes = [target(namespace, "client", name=name) for name in names]
    apply(["install", "configure", "start"], nodes, scratch=tmp_path, timeout_s=60)
    for name in names:
        assert service_folder(scratch=tmp_path, target=name, name="client").stat().st_mode & 0o777 == 0o700
    apply(["stop"], nodes, scratch=tmp_path, timeout_s=60)


def test_what_works_is_quiet_keeps_its_files_in_the_scratch_folder_and_lets_the_callers_signal_handlers_be(
    namespace: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    home.mkdir()
    scratch.mkdir()
    monkeypatch.setenv("HOME", str(home))
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    apply(["configure"], [target(namespace, "client")], scratch=scratch, timeout_s=60)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert list(home.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_a_port_in_use_is_named_with_its_holder(namespace: int, tmp_path: Path) -> None:
    code = (
        "import socket, sys; s = socket.create_server(('127.0.0.1', 61613)); print('up', flush=True); sys.stdin.read()"
    )
    words = ["nsenter", "-t", str(namespace), "-n", "--", sys.executable, "-c", code]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as squatter:
        assert squatter.stdout is not None
        assert squatter.stdout.readline() == b"up\n"
        error = refused(("configure", "start"), target(namespace, "activemq", name="broker"), tmp_path)
        squatter.kill()
    assert error.host == "broker"
    assert error.task == "Start ActiveMQ"
    assert f"port 61613 on 127.0.0.1 is in use by process {squatter.pid}: {sys.executable}" in error.message


def test_a_broker_that_dies_at_its_start_shows_the_end_of_its_log(namespace: int, tmp_path: Path) -> None:
    variables = json.loads((FIXTURES / "broker-that-dies" / "variables.json").read_text())
    error = refused(("configure", "start"), target(namespace, "activemq", variables, name="broker"), tmp_path)
    assert error.host == "broker"
    assert error.message.startswith("java ended at its start with status 0; its log ends:\n")
    assert "java.lang.IllegalArgumentException: Could not convert to a memory size: plenty" in error.message
    assert len(error.message) < 3000
    assert str(error).startswith("deploying on broker: task 'Start ActiveMQ' failed: java ended")


def test_a_deployment_that_hangs_is_ended_when_its_time_is_over(namespace: int, tmp_path: Path) -> None:
    node = target(namespace, "reference", hanging(tmp_path))
    before = outside()
    error = refused(("configure", "start"), node, tmp_path, timeout_s=8)
    assert error.message == "not finished after 8 s, so it was ended"
    assert "reference broker" in error.task
    assert outside() == before


def test_an_interrupted_deployment_leaves_nothing(namespace: int, tmp_path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    there = outside()
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 4)
    try:
        with pytest.raises(KeyboardInterrupt):
            apply(
                ["configure", "start"],
                [target(namespace, "reference", hanging(tmp_path))],
                scratch=tmp_path,
                timeout_s=60,
            )
    finally:
        signal.signal(signal.SIGALRM, before)
    assert processes(str(tmp_path)) == []
    assert outside() == there


def test_a_node_whose_namespace_is_gone_is_named(tmp_path: Path) -> None:
    with throwaway_namespace() as pid:
        pass
    error = refused(("configure",), target(pid, "client", name="station-7"), tmp_path)
    assert error.host == "station-7"
    assert f"/proc/{pid}/ns/net" in error.message


def test_an_option_that_a_module_cannot_read_is_named(namespace: int, tmp_path: Path) -> None:
    error = refused(("start",), target(namespace, "reference", {"reference_ready_timeout_s": "soon"}), tmp_path)
    assert error.task == "Start the reference broker"
    assert "argument 'ready_timeout_s' is of type str and we were unable to convert to float" in error.message


@pytest.mark.parametrize("become", [False, True])
def test_a_command_that_only_looks_and_fails_says_what_it_said(namespace: int, tmp_path: Path, *, become: bool) -> None:
    python, folder = tmp_path / "a python", tmp_path / "a folder"
    folder.mkdir()
    python.write_text('#!/bin/sh\npwd >&2\necho "$2" >&2\nexit 3\n')
    python.chmod(0o755)
    variables: dict[str, Any] = {"reference_python": str(python), "reference_source": str(folder)}
    if become:
        variables |= {"ansible_become": True, "ansible_become_method": "su"}
    error = refused(("install",), target(namespace, "reference", variables), tmp_path)
    assert error.task == "Check that the reference broker can be imported"
    assert error.message == f"non-zero return code\n{folder}\nimport stacks.reference.server"


def test_a_role_that_is_not_there_is_named(namespace: int, tmp_path: Path) -> None:
    error = refused(("configure",), target(namespace, "kafka"), tmp_path)
    assert error.message.startswith("the role 'kafka' was not found in ")


def test_a_package_that_cannot_be_had_is_named(namespace: int, tmp_path: Path) -> None:
    variables = {"activemq_packages": ["no-such-package-of-airwire"]}
    # Where the lists of packages are old, apt fetches them first, over a network that we know nothing of and may fail.
    error = refused(("install",), target(namespace, "activemq", variables), tmp_path, timeout_s=280)
    assert error.task == "Install ActiveMQ and Java"
    assert re.search("no-such-package-of-airwire|Failed to update apt cache", error.message)


def test_a_role_twice_on_one_node_is_refused_before_anything_starts(tmp_path: Path) -> None:
    twice = Target(name="n", address="127.0.0.1", pid=1, roles=(RoleCall(role="client"),) * 2)
    with pytest.raises(ValueError, match=r"target n: roles \['client', 'client'\]: a role can be given"):
        inventory([twice], scratch=tmp_path)


def test_a_node_on_another_machine_is_reached_over_ssh(tmp_path: Path) -> None:
    call = RoleCall(role="client", variables={"client_name": "mine"})
    node = Target(name="far", address="192.0.2.9", roles=(call,), connection={"ansible_user": "lab"})
    host = inventory([node], scratch=tmp_path)["all"]["hosts"]["far"]
    assert host == {
        "airwire_roles": ["client"],
        "airwire_address": "192.0.2.9",
        "ansible_connection": "ssh",
        "ansible_host": "192.0.2.9",
        "ansible_user": "lab",
        "client_name": "mine",
    }
