"""What others have put in the place of a service's files is refused, when these are written and when it starts.

Root may do everything, so planted things are of another user, as they are on a machine that several use.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playbook_modules import load

config_files, service_process = load("config_files"), load("service_process")
STRANGER = 65534
CONTENT = "of the machine\n"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file that nobody may change or read for somebody else."""
    path = tmp_path / "victim"
    path.write_text(CONTENT)
    return path


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A service's folder, with an earlier configuration."""
    path = tmp_path / "host" / "service"
    config_files.write(path, ["data"], {"conf/a.xml": "first"})
    return path


def refused(path: Path, **wanted: Any) -> str:
    with pytest.raises(OSError, match=r".") as caught:
        config_files.write(path, wanted.get("folders", []), wanted.get("files", {}))
    return str(caught.value)


def test_a_folder_is_brought_to_its_state_and_stays_as_it_is(base: Path) -> None:
    assert base.stat().st_mode & 0o777 == 0o700
    assert (base / "conf" / "a.xml").stat().st_mode & 0o777 == 0o600
    assert config_files.write(base, ["data"], {"conf/a.xml": "first"}) == []
    assert config_files.write(base, ["data", "tmp/deep"], {"conf/a.xml": "second"}) == ["tmp/deep", "conf/a.xml"]
    assert (base / "conf" / "a.xml").read_text() == "second"
    assert (base / "tmp" / "deep").is_dir()


def test_a_link_in_the_place_of_a_file_is_refused(base: Path, victim: Path) -> None:
    (base / "conf" / "a.xml").unlink()
    (base / "conf" / "a.xml").symlink_to(victim)
    assert "conf/a.xml is a link" in refused(base, files={"conf/a.xml": "planted"})
    assert victim.read_text() == CONTENT


def test_a_link_in_the_place_of_the_file_that_is_being_written_is_not_followed(base: Path, victim: Path) -> None:
    (base / "conf" / ".a.xml.new").symlink_to(victim)
    config_files.write(base, [], {"conf/a.xml": "second"})
    assert victim.read_text() == CONTENT
    assert (base / "conf" / "a.xml").read_text() == "second"


def test_a_link_in_the_place_of_a_folder_is_refused(base: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (base / "conf" / "a.xml").unlink()
    (base / "conf").rmdir()
    (base / "conf").symlink_to(elsewhere)
    assert "conf is a link" in refused(base, files={"conf/a.xml": "planted"})
    (tmp_path / "host2").mkdir()
    (tmp_path / "host2" / "service").symlink_to(elsewhere)
    assert "service is a link" in refused(tmp_path / "host2" / "service", files={"a": "planted"})
    assert list(elsewhere.iterdir()) == []


def test_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for(base: Path) -> None:
    os.mkfifo(base / "pipe")
    assert "pipe is not a plain file" in refused(base, files={"pipe": "x"})


@pytest.mark.parametrize("name", ["../out", "/out", "a/../../out"])
def test_a_name_outside_of_the_folder_is_refused(base: Path, name: str) -> None:
    assert "is not a name below the service's folder" in refused(base, files={name: "x"})
    assert not (base.parent / "out").exists()


def test_a_folder_that_others_may_write_to_is_refused(base: Path) -> None:
    base.chmod(0o770)
    assert "service may be written to by others (mode 0770)" in refused(base, files={"a": "x"})


def owned(make: Callable[[Path], None], path: Path) -> None:
    """Make something, as a stranger would."""
    make(path)
    os.chown(path, STRANGER, STRANGER, follow_symlinks=False)


@pytest.mark.root
def test_a_strangers_folder_where_everybody_may_write_is_refused(tmp_path: Path) -> None:
    everybodys = tmp_path / "tmp"
    everybodys.mkdir()
    everybodys.chmod(0o1777)
    owned(Path.mkdir, everybodys / "airwire")
    message = refused(everybodys / "airwire", files={"a": "x"})
    assert message.startswith(f"{everybodys / 'airwire'} belongs to user {STRANGER}, not to user 0")
    assert "belongs to user" in refused(everybodys / "airwire" / "host" / "service", files={"a": "x"})
    assert list((everybodys / "airwire").iterdir()) == []


@pytest.mark.root
def test_a_strangers_link_where_everybody_may_write_leads_nowhere(tmp_path: Path) -> None:
    everybodys, machines = tmp_path / "tmp", tmp_path / "etc"
    everybodys.mkdir()
    everybodys.chmod(0o1777)
    machines.mkdir()
    owned(lambda path: path.symlink_to(machines), everybodys / "airwire")
    assert "belongs to user" in refused(everybodys / "airwire" / "host" / "service", files={"a": "x"})
    assert list(machines.iterdir()) == []


def test_a_folder_of_ours_where_everybody_may_write_is_used(tmp_path: Path) -> None:
    everybodys = tmp_path / "tmp"
    everybodys.mkdir()
    everybodys.chmod(0o1777)
    config_files.write(everybodys / "airwire" / "host" / "service", [], {"a": "x"})
    assert (everybodys / "airwire" / "host" / "service" / "a").read_text() == "x"


@pytest.fixture
def options(base: Path) -> dict[str, Any]:
    """For a program that ends at once."""
    return {
        "command": [sys.executable, "-c", "print('said')"],
        "environment": {},
        "chdir": None,
        "pid_file": str(base / "pid"),
        "log_file": str(base / "log"),
        "host": "127.0.0.1",
        "port": 0,
        "ready_send": "",
        "ready_expect": "",
        "ready_log": "said",
        "ready_timeout_s": 20.0,
        "grace_s": 5.0,
        "purge": [],
    }


def test_what_a_server_says_is_added_to_no_link(options: dict[str, Any], base: Path, victim: Path) -> None:
    (base / "log").symlink_to(victim)
    with pytest.raises(OSError, match="log is a link"):
        service_process.start(options)
    assert victim.read_text() == CONTENT
    assert not (base / "pid").exists()


def test_a_pid_is_written_through_no_link(options: dict[str, Any], base: Path, victim: Path) -> None:
    (base / ".pid.new").symlink_to(victim)
    pid = service_process.start(options)["pid"]
    assert victim.read_text() == CONTENT
    assert (base / "pid").read_text().startswith(f"{pid} ")
    (base / "pid").unlink()
    (base / "pid").symlink_to(victim)
    with pytest.raises(OSError, match="pid is a link"):
        service_process.start(options)
    assert victim.read_text() == CONTENT


@pytest.mark.root
def test_a_strangers_pid_file_ends_nobody(options: dict[str, Any], base: Path) -> None:
    me = os.getpid()
    (base / "pid").write_text(f"{me} {service_process._stat(me)[1]}\n")
    os.chown(base / "pid", STRANGER, STRANGER)
    with pytest.raises(OSError, match=f"pid belongs to user {STRANGER}"):
        service_process.stop(options)


def test_nothing_is_removed_from_a_folder_that_others_may_write_to(options: dict[str, Any], base: Path) -> None:
    (base / "data" / "kept").touch()
    base.chmod(0o777)
    with pytest.raises(OSError, match="may be written to by others"):
        service_process.restart(options | {"purge": [str(base / "data")]})
    assert (base / "data" / "kept").exists()
