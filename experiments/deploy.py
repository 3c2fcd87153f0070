"""Deploying services on nodes: one Ansible run, quiet when it works, a named error when it does not."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import ansible_runner

from emulation.kernel import kernel
from emulation.kernel.kernel import KernelName
from records.errors import CannotGoOn
from stacks.driver import Service
from stacks.folders import role_folders

Action = Literal["install", "configure", "start", "reset", "stop"]

PLAYBOOKS = Path(__file__).resolve().parents[1] / "playbooks"
CACHE = PLAYBOOKS.parent / "build" / "cache"
FORKS = 8
_POLL_S = 0.5
# How much longer than on the machine's own kernel a service may take to start.
_PATIENCE: dict[KernelName, int] = {"host": 1, "lab": 5}
_MARK = "AIRWIRE_DEPLOYMENT"
_PACKAGES, _PACKAGES_S = frozenset({"apt-get", "dpkg"}), 300.0  # which are let end, and how long that may take
_LAST_LINES = 20
INSTALL_LIMIT_S = 600.0


class DeployError(CannotGoOn):
    """A deployment failed: which task, on which host, and what it said."""

    def __init__(self, *, task: str, host: str, message: str) -> None:
        super().__init__(f"deploying on {host}: task '{task}' failed: {message}")
        self.task, self.host, self.message = task, host, message


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleCall:
    """A role of the playbooks or of a stack, and its variables (their names begin with the role's)."""

    role: str
    variables: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A node and what runs on it.

    address: where the other nodes reach it; services listen there.  pid: a process in the node's network
    namespace on this machine, None = another machine, reached over SSH at `address`.  connection: further
    Ansible host variables, such as ansible_user.
    """

    name: str
    address: str
    roles: tuple[RoleCall, ...]
    pid: int | None = None
    connection: Mapping[str, Any] = field(default_factory=dict)


def role_call(service: Service) -> RoleCall:
    """What deploys a stack's service."""
    names = {f"{service.role}_name": service.name, f"{service.role}_port": service.port}
    if service.tls != "off":
        names[f"{service.role}_tls"] = service.tls
    return RoleCall(role=service.role, variables={**names, **service.variables})


def service_folder(*, scratch: Path, target: str, name: str) -> Path:
    """Where a service keeps its files on its node: configuration, data, `log` and `pid`."""
    return scratch / target / name


def certify(placed: Iterable[tuple[str, str, Service]], *, scratch: Path) -> str:
    """Give those of these services that speak TLS a certificate each, in `tls` of their folders, by one new authority.

    placed: name and address of a target, and a service of its.  Returns the authority's own certificate (PEM), '' when
    none speaks TLS.
    """
    secured = [one for one in placed if one[2].tls != "off"]
    if not secured:
        return ""
    from stacks.certificates import Authority  # noqa: PLC0415 - imports slowly, and few trials speak TLS

    authority = Authority()
    for target, address, service in secured:
        folder = service_folder(scratch=scratch, target=target, name=service.name)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        authority.issue(address, folder / "tls")
    return authority.certificate


def service_pid(*, scratch: Path, target: str, name: str) -> int:
    """The process number of a service started on this machine; DeployError when it was not started."""
    path = service_folder(scratch=scratch, target=target, name=name) / "pid"
    try:
        return int(path.read_text().split()[0])
    except (OSError, IndexError, ValueError) as error:
        raise DeployError(task="read the pid file", host=target, message=f"{name} is not running: {error}") from error


def apply(
    actions: Sequence[Action],
    targets: Sequence[Target],
    *,
    scratch: Path,
    timeout_s: float,
    cache: Path = CACHE,
) -> None:
    """Do each action, in order, for every role of every target, each action on all before the next.

    scratch: the trial's folder, which takes every file but the cache.  cache: survives trials (Java's class
    archive).  timeout_s: limit of the whole call.  DeployError when a task fails, a host cannot be reached or
    the limit passes.
    """
    for target in targets:
        if target.pid is None and any(f"{call.role}_tls" in call.variables for call in target.roles):
            why = "certificates are made for nodes of this machine only: use tls off"
            raise DeployError(task="prepare TLS", host=target.name, message=why)
    scratch = scratch.resolve()
    private = scratch / "ansible"
    (private / "tmp").mkdir(parents=True, exist_ok=True)
    watch = _Watch(hosts=", ".join(target.name for target in targets), timeout_s=timeout_s)
    try:
        run = ansible_runner.run(
            private_data_dir=str(private),
            binary=sys.executable,
            cmdline=shlex.join([str(PLAYBOOKS / "play.py"), str(PLAYBOOKS / "services.yml")]),
            inventory=inventory(targets, scratch=scratch),
            extravars={
                "airwire_actions": list(actions),
                "airwire_scratch": str(scratch),
                "airwire_cache": str(cache.resolve()),
                "airwire_source": str(PLAYBOOKS.parent),
                "airwire_patience": _PATIENCE[kernel.current()],
            },
            envvars={**_environment(private), _MARK: watch.mark},
            settings={"pexpect_timeout": _POLL_S},
            event_handler=watch.on_event,
            cancel_callback=watch.late,
            forks=FORKS,
            quiet=True,
        )
        watch.judge(run)
    except BaseException:
        _end_marked(watch.mark)
        raise


class _Watch:
    """Follows one Ansible run: the task it is at, the failures so far, its time."""

    def __init__(self, *, hosts: str, timeout_s: float) -> None:
        self.mark = uuid4().hex
        self._hosts, self._timeout_s = hosts, timeout_s
        self._deadline = time.monotonic() + timeout_s
        self._task = "start Ansible"
        self._failures: list[DeployError] = []

    def on_event(self, event: dict[str, Any]) -> bool:
        """Called by ansible-runner; False because the event needs no file."""
        data = event.get("event_data", {})
        self._task = data.get("task", self._task)
        if failure := _failure(event.get("event", ""), data):
            self._failures.append(failure)
        return False

    def late(self) -> bool:
        """Called by ansible-runner, which otherwise takes SIGINT and SIGTERM away from our caller."""
        return time.monotonic() > self._deadline

    def judge(self, run: Any) -> None:
        """DeployError unless the run went well."""
        if self._failures:
            raise self._failures[0]
        if run.status == "canceled":
            message = f"not finished after {self._timeout_s:g} s, so it was ended"
            raise DeployError(task=self._task, host=self._hosts, message=message)
        if run.status != "successful":
            raise DeployError(task=self._task, host=self._hosts, message=_last_words(run))


def _end_marked(mark: str) -> None:
    """End what a failed run left on this machine, unfinished services included.

    Ansible's workers leave its process group, so the mark in their environment is what tells them.  What installs
    packages is waited for: killed, it would leave them half-configured, and the machine's package manager unusable.
    """
    wanted = f"{_MARK}={mark}".encode()
    deadline = time.monotonic() + _PACKAGES_S
    said: set[str] = set()
    while time.monotonic() < deadline:
        with suppress(KeyboardInterrupt):  # who sees nothing happen asks again
            installing = _PACKAGES & set(map(_program, _marked_by(wanted)))
            if not installing:
                break
            for name in sorted(installing - said):
                with suppress(OSError):  # nobody may be left to hear it
                    print(f"waiting for {name}, which must not be broken off", file=sys.stderr)
            said |= installing
            time.sleep(0.2)
    while found := _marked_by(wanted):
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _marked_by(wanted: bytes) -> list[int]:
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _marked(pid, wanted)]


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _marked(pid: int, wanted: bytes) -> bool:
    try:
        return wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it ended, or is another user's
        return False


def inventory(targets: Sequence[Target], *, scratch: Path) -> dict[str, Any]:
    """Ansible's inventory; ValueError when a target has a role twice, because role variables are per host."""
    return {"all": {"hosts": {target.name: _host(target, scratch) for target in targets}}}


def _host(target: Target, scratch: Path) -> dict[str, Any]:
    roles = [call.role for call in target.roles]
    if len(set(roles)) != len(roles):
        raise ValueError(f"target {target.name}: roles {roles}: a role can be given to a target once")
    variables: dict[str, Any] = {"airwire_roles": roles, "airwire_address": target.address}
    if target.pid is None:
        variables |= {"ansible_connection": "ssh", "ansible_host": target.address}
    else:
        variables |= {
            "ansible_connection": "netns",
            "ansible_netns_pid": target.pid,
            "ansible_python_interpreter": sys.executable,
            "ansible_remote_tmp": str(scratch / "ansible" / "tmp"),
        }
    for call in target.roles:
        variables |= call.variables
    return variables | dict(target.connection)


def _environment(private: Path) -> dict[str, str]:
    return {
        "ANSIBLE_CONFIG": str(PLAYBOOKS / "ansible.cfg"),
        "ANSIBLE_ROLES_PATH": os.pathsep.join(map(str, role_folders())),
        "ANSIBLE_HOME": str(private / "home"),
        "ANSIBLE_LOCAL_TEMP": str(private / "tmp"),
        "TMPDIR": str(private / "tmp"),  # where modules unpack themselves, and leave that when they are killed
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(private / "ssh"),
        "ANSIBLE_NOCOLOR": "1",
        "LC_ALL": "C.UTF-8",
    }


def _failure(event: str, data: Mapping[str, Any]) -> DeployError | None:
    if event not in ("runner_on_failed", "runner_on_unreachable") or data.get("ignore_errors"):
        return None
    result = data.get("res", {})
    items = [item for item in result.get("results", ()) if item.get("failed")]
    return DeployError(task=data.get("task", "?"), host=data.get("host", "?"), message=_message(items or [result]))


def _message(results: Sequence[Mapping[str, Any]]) -> str:
    # Ansible's own reason, where there is one, stands beside a message that says nothing.
    keys = ("reason",) if "reason" in results[0] else ("msg", "stderr", "module_stderr")
    said = [str(result.get(key, "")).strip() for result in results for key in keys]
    return "\n".join(_tail(text) for text in dict.fromkeys(said) if text) or "it gave no reason"


def _last_words(run: Any) -> str:
    with run.stdout as output:
        return _tail(output.read()) or f"ansible-playbook ended with status {run.rc} and said nothing"


def _tail(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-_LAST_LINES:])
