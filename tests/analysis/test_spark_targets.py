"""What a user chooses for Spark, what an administrator has chosen, and what workers have, without Spark."""

from __future__ import annotations

import logging
import os
import py_compile
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata
from importlib.util import cache_from_source, module_from_spec, spec_from_file_location
from pathlib import Path, PurePosixPath
from threading import Event
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from py4j.java_gateway import GatewayClient

from analysis.spark import defaults
from analysis.spark.bytecode import byte_code
from analysis.spark.check import PYTHON, Worker, explained, findings
from analysis.spark.environment import archive, digest, is_wanted
from analysis.spark.errors import SparkFailed, must_answer, raised, telling, unless_py4j
from analysis.spark.export import Done, NotShared, Piece, seen, verify
from analysis.spark.needs import distributions, needed
from analysis.spark.session import chosen_by, event_log, session
from analysis.spark.target import Target, settings_of
from analysis.spark.watch import Executor, repeated, repeatedly
from records.errors import WrongInput

# As java.util.Properties writes them.
_KEYS = st.from_regex(r"spark\.[a-zA-Z0-9.=: #!\\\t]+", fullmatch=True)
_VALUES = st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF)).map(str.strip)
WANTED = {PYTHON: "3.11.2", "numpy": "2.4.6", "pydantic": "2.14.3"}
THERE = Worker(host="far", place="/work", python="/usr/bin/python3", versions=dict(WANTED))


def escaped(text: str, also: str) -> str:
    plain = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"} | {one: f"\\{one}" for one in also}
    return "".join(plain.get(one, one if " " <= one <= "~" else f"\\u{ord(one):04x}") for one in text)


def test_settings_are_pairs_and_the_last_of_a_key_counts() -> None:
    words = ("spark.a.b=1", "spark.executor.memory = 4g", "spark.a.b=x=y", "spark.empty=")
    assert settings_of(words) == (("spark.a.b", "x=y"), ("spark.executor.memory", "4g"), ("spark.empty", ""))


@pytest.mark.parametrize("word", ["spark.a", "memory=4g", "=4g", "spark.a b=1", ""])
def test_what_is_no_setting_is_refused_with_an_example(word: str) -> None:
    with pytest.raises(WrongInput, match="not KEY=VALUE of a setting"):
        settings_of([word])


@pytest.mark.parametrize(("key", "way"), [("spark.master", "--master"), ("spark.eventLog.dir", "--event-log")])
def test_what_an_option_decides_is_no_setting(key: str, way: str) -> None:
    with pytest.raises(WrongInput, match=f"{key} cannot be set: {way}"):
        settings_of([f"{key}=x"])


@given(st.dictionaries(_KEYS, _VALUES), st.sampled_from([" ", "=", ":", "\t", " = ", "  : "]))
def test_properties_are_read_as_java_writes_them(properties: dict[str, str], between: str) -> None:
    lines = [f"{escaped(key, '=: #!')}{between}{escaped(value, '=:#!')}" for key, value in properties.items()]
    assert defaults.parse("\n".join(["# comment", *lines, "! comment", "", "other.key 1"])) == properties


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert all(key.startswith("spark.") for key in defaults.parse(text))


def test_a_line_goes_on_behind_a_backslash_and_spaces_divide() -> None:
    assert defaults.parse("spark.jars  a.jar,\\\n    b.jar\r\nspark.x\n") == {
        "spark.jars": "a.jar,b.jar",
        "spark.x": "",
    }


def test_the_file_is_found_as_spark_finds_it(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.a 1")
    assert defaults.defaults({"SPARK_HOME": str(tmp_path)}) == {"spark.a": "1"}
    assert defaults.defaults({"SPARK_HOME": str(tmp_path), "SPARK_CONF_DIR": str(tmp_path)}) == {}
    assert defaults.defaults({}) == {}


def test_the_command_line_goes_before_the_file_and_the_file_before_ours() -> None:
    ours = {
        "spark.master": "spark://a:1",
        "spark.sql.shuffle.partitions": "2",
        "spark.executorEnv.PYTHONPATH": "code.zip",
    }
    theirs = {"spark.master": "yarn", "spark.sql.shuffle.partitions": "9", "spark.executorEnv.PYTHONPATH": "/site"}
    found = chosen_by(ours, theirs, {"spark.executor.memory": "4g", "spark.archives": "x.zip"})
    assert found == {
        "spark.master": "spark://a:1",
        "spark.sql.shuffle.partitions": "9",
        "spark.executorEnv.PYTHONPATH": "code.zip:/site",
        "spark.executor.memory": "4g",
        "spark.archives": "x.zip",
    }
    assert chosen_by(ours, theirs, {"spark.sql.shuffle.partitions": "3"})["spark.sql.shuffle.partitions"] == "3"


def test_an_event_log_goes_to_a_folder_that_is_made_or_to_a_uri(tmp_path: Path) -> None:
    found = event_log(str(tmp_path / "a log"))
    assert found == {"spark.eventLog.enabled": "true", "spark.eventLog.dir": (tmp_path / "a log").as_uri()}
    assert (tmp_path / "a log").is_dir()
    assert event_log("hdfs://name/logs")["spark.eventLog.dir"] == "hdfs://name/logs"


def test_workers_that_have_what_is_wanted_are_not_spoken_of() -> None:
    assert findings(WANTED, [THERE, replace(THERE, host="near")]) == []


@pytest.mark.parametrize(
    ("name", "found", "refused"),
    [
        ("numpy", "", True),
        ("numpy", "2.3.9", True),
        ("numpy", "3.4.6", True),
        ("numpy", "2.4.5", True),
        (PYTHON, "3.12.2", True),
        (PYTHON, "3.11.9", False),
        ("pydantic", "2.9.0", True),
        ("pydantic", "", True),
    ],
)
def test_what_a_worker_lacks_or_has_in_another_version_is_told_once_for_a_host(
    name: str, found: str, refused: bool
) -> None:
    other = replace(THERE, versions=WANTED | {name: found})
    (told,) = findings(WANTED, [THERE, other, replace(other, place="/work/2")])
    assert told.refused == refused
    assert str(told) == f"worker far (/usr/bin/python3): {name}: wanted {WANTED[name]}, found {found or 'none'}"


def test_a_worker_without_that_python_or_with_another_minor_version_is_told_in_our_words() -> None:
    none = 'org.apache.spark.SparkException: java.io.IOException: Cannot run program "/x/python": error=2'
    assert explained(none) == "workers have no Python at /x/python; PYSPARK_PYTHON says where theirs is"
    other = (
        "Lost task 0.3 in stage 0.0 (TID 3) (10.0.0.7 executor 0): [PYTHON_VERSION_MISMATCH] Python in worker has "
        "different version: 3.12 than that in driver: 3.11, PySpark cannot run with different minor versions."
    )
    assert explained(other).startswith("worker 10.0.0.7 (its Python): Python: wanted 3.11.")
    assert ", found 3.12\n" in explained(other)
    assert explained("Job aborted due to stage failure") == ""


def test_what_tasks_import_is_found_with_what_that_requires() -> None:
    assert {"numpy", "pyarrow", "pydantic", "scipy"} <= {one.module for one in needed()}
    names = {one.name.lower() for one in distributions()}
    assert "annotated-types" in names
    assert not names & {"pyspark", "py4j", "matplotlib", "ansible-core"}


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("numpy/__init__.py", True),
        ("numpy.libs/libopenblas.so", True),
        ("numpy/_core/tests/_natype.py", True),
        ("numpy/_core/tests/test_array.py", False),
        ("pyarrow/include/arrow/api.h", False),
        ("pyarrow/libarrow.so.2600", True),
        ("pyarrow/libarrow_flight.so.2600", False),
        ("pyarrow/_flight.cpython-311-x86_64-linux-gnu.so", False),
        ("../../../bin/f2py", False),
        ("/etc/passwd", False),
        ("scipy/__pycache__/a.pyc", False),
    ],
)
def test_of_a_distribution_what_tasks_need_is_sent(file: str, wanted: bool) -> None:
    assert is_wanted(PurePosixPath(file)) == wanted


def test_an_archive_is_made_once_and_its_python_finds_what_is_in_it(tmp_path: Path) -> None:
    small = [metadata.distribution("annotated-types")]
    (tmp_path / "workers-of-old.tar.gz").touch()
    path = archive(tmp_path, small)
    content, made = path.read_bytes(), path.stat().st_mtime_ns
    assert archive(tmp_path, small) == path
    assert path.stat().st_mtime_ns == made
    assert list(tmp_path.iterdir()) == [path]
    path.unlink()
    assert archive(tmp_path, small).read_bytes() == content
    assert digest(small) != digest([*small, metadata.distribution("typing-extensions")])

    (tmp_path / "there").mkdir()
    subprocess.run(["tar", "xzf", path, "-C", tmp_path / "there"], check=True)
    ask = "import annotated_types; print(annotated_types.__file__)"
    env = {"PATH": os.environ["PATH"], "AIRWIRE_PYTHON": "python3"}
    command = ["there/bin/python", "-vc", ask]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    module = str(tmp_path / "there" / "annotated_types" / "__init__.py")
    assert done.stdout.strip() == module
    assert f"# code object from '{cache_from_source(module)}'" in done.stderr


def test_byte_code_is_sent_of_sources_that_it_is_of(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text("there = 1\n")
    assert byte_code(source) is None
    compiled = Path(py_compile.compile(str(source), doraise=True) or "")
    sent = byte_code(source)
    assert sent is not None
    assert sent[16:] == compiled.read_bytes()[16:]
    os.utime(source, (1, 1))
    assert byte_code(source) is None, "of a source of another time"
    source.write_text("there = 12\n")
    compiled.write_bytes(sent)
    spec = spec_from_file_location("module", source)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module := module_from_spec(spec))
    assert module.there == 1, "taken without a look at its source"


@pytest.fixture
def exported(tmp_path: Path) -> tuple[list[Piece], list[Done], Path]:
    """Two pieces, of which one could not be read, as a task has told, in storage that all see."""
    out = tmp_path / "out" / "stage"
    (out / "delivered").mkdir(parents=True)
    path = out / "delivered" / "part-00000.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    pieces = [
        Piece(source="a", target="delivered/part-00000.parquet", table="delivered"),
        Piece(source="b", target="published/part-00000.parquet", table="published"),
    ]
    size, sha256 = seen(path) or (0, "")
    return pieces, [Done(rows=1, bytes=size, sha256=sha256), Done(problem="b: unreadable")], out


def test_an_export_whose_files_are_as_they_were_written_is_whole(
    exported: tuple[list[Piece], list[Done], Path],
) -> None:
    (exported[2] / "delivered" / ".part-00000.parquet.1.partial").write_bytes(b"of an attempt that was killed")
    verify(*exported)
    assert [path.name for path in (exported[2] / "delivered").iterdir()] == ["part-00000.parquet"]


@pytest.mark.parametrize("how", ["absent", "cut", "another", "further"])
def test_an_export_that_is_not_as_it_was_written_is_refused(
    exported: tuple[list[Piece], list[Done], Path], how: str
) -> None:
    path = exported[2] / "delivered" / "part-00000.parquet"
    content = path.read_bytes()
    if how == "absent":
        path.unlink()
    elif how == "cut":
        path.write_bytes(content[:-1])
    elif how == "another":
        path.write_bytes(content[:-1] + b"?")
    else:
        path.with_name("part-00001.parquet").write_bytes(content)
    with pytest.raises(NotShared, match=r"of 1 files that workers wrote, 1 are not here .*delivered/part-0000"):
        verify(*exported)


def test_tasks_that_ran_again_are_one_message_with_the_workers_that_were_lost() -> None:
    calm = Executor(place="a:1", lost="", failed=0)
    idle = Executor(place="b:1", lost="killed by driver.", failed=0)
    lost = Executor(place="c:1", lost="Command exited\n with code 137.", failed=1)
    assert repeated([calm, idle]) == ""
    assert repeated([replace(calm, failed=2)]) == "2 tasks of Spark's failed and ran again"
    assert repeated([calm, idle, replace(lost, failed=0)]) == "workers lost: c:1 (Command exited with code 137)"
    assert repeated([calm, idle, lost]) == (
        "1 task of Spark's failed and ran again; workers lost: c:1 (Command exited with code 137)"
    )


def test_what_is_told_of_long_jobs_is_told_again_and_not_of_what_ends_before() -> None:
    told, twice = Event(), Event()
    with repeatedly(told.set, after_s=3600, every_s=0):
        pass
    assert not told.is_set()

    def tell() -> None:
        (twice if told.is_set() else told).set()

    with repeatedly(tell, after_s=0, every_s=0):
        assert twice.wait(60)


def test_of_an_error_the_lines_are_told_that_say_something() -> None:
    error = """An error occurred while calling x.
: java.lang.IllegalStateException: stopped
\tat org.apache.spark.A.b(A.scala:12)
py4j.Gateway.invoke(Gateway.java:238)
java.base/jdk.internal.X.newInstance0(Native Method)
\t... 12 more
Caused by: java.io.IOException: no route

JVM stacktrace:
java.io.IOException
"""
    assert telling(error, "26/11/25 WARN lost\nCaused by: java.io.IOException: no route") == "\n  ".join((
        "An error occurred while calling x.", ": java.lang.IllegalStateException: stopped",
        "Caused by: java.io.IOException: no route", "26/11/25 WARN lost",
    ))  # fmt: skip


def test_of_an_error_in_a_task_the_stack_of_python_is_left_out() -> None:
    error = """[X] Job aborted: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/opt/worker.py", line 1, in main
    process()
    ^^^^^^^^^

  File "/opt/work.py", line 2, in read
    raise DamagedTrial("no")
records.store.DamagedTrial: /r/trial-001: cut off
"""
    assert telling(error) == "/r/trial-001: cut off"
    assert telling("ValueError: x\n  of y") == "ValueError: x\n    of y"
    twice = f"{error}\nDuring handling of it:\n\nTraceback (most recent call last):\n  File x\nrecords.A: a\n  b\n"
    assert raised(twice) == "a\n  b"


class Interrupted(GatewayClient):  # type: ignore[misc]
    """Whoever waits for Java's answer presses Ctrl-C."""

    def _get_connection(self) -> Any:
        return SimpleNamespace(send_command=Mock(side_effect=KeyboardInterrupt), close=Mock(), socket=None)


@pytest.mark.parametrize("kept_back", [False, True])
def test_what_py4j_writes_of_an_interrupt_is_kept_back_and_what_others_write_is_not(
    kept_back: bool, caplog: pytest.LogCaptureFixture
) -> None:
    root = logging.getLogger()
    if kept_back:
        root.addFilter(unless_py4j)
    try:
        with pytest.raises(KeyboardInterrupt):
            Interrupted().send_command("c")
        root.error("of others")
    finally:
        root.removeFilter(unless_py4j)
    told = ["KeyboardInterrupt while sending command.", "of others"]
    assert [record.message for record in caplog.records] == told[kept_back:]


def test_a_folder_by_a_uri_of_hadoops_is_one(tmp_path: Path) -> None:
    assert event_log("file:/var/log/spark")["spark.eventLog.dir"] == "file:/var/log/spark"
    assert event_log(str(tmp_path / "log"))["spark.eventLog.dir"] == (tmp_path / "log").as_uri()


@pytest.mark.parametrize("options", ["/;token=hidden", ";token=hidden", "/;token=a,hidden"])
def test_a_secret_in_the_address_of_a_server_is_not_told(options: str) -> None:
    with pytest.raises(SparkFailed, match=r"^sc://127\.0\.0\.1:9: no Spark Connect server answers there") as failed:
        must_answer(f"sc://127.0.0.1:9{options}", what="Spark Connect server", port=15002)
    assert "hidden" not in str(failed.value)


@pytest.mark.parametrize("master", ["spark://127.0.0.1:9", "spark://", "spark://127.0.0.1:9,127.0.0.1:port"])
def test_a_master_that_is_not_there_is_named_at_once(master: str) -> None:
    with pytest.raises(SparkFailed, match=f"{master}: no Spark master answers there: "), session(master=master):
        pass


def test_any_of_several_masters_will_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        must_answer(f"spark://127.0.0.1:9,127.0.0.1:{listening.getsockname()[1]}", what="Spark master", port=7077)


def test_what_a_file_and_the_command_line_say_is_what_java_is_started_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[dict[str, str]] = []

    @contextmanager
    def own_jvm(chosen: dict[str, str], *_: object, **__: object) -> Iterator[None]:
        started.append(chosen)
        yield

    monkeypatch.setattr("analysis.spark.session._own_jvm", own_jvm)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    (tmp_path / "spark-defaults.conf").write_text("spark.master local[3]\nspark.executor.memory=700m\n# none\n")
    with session(master=Target(master="local[1]", conf=(("spark.a", "b"),), event_log=str(tmp_path / "log"))):
        pass
    with session():
        pass
    assert [one["spark.master"] for one in started] == ["local[1]", "local[3]"]
    assert [one["spark.executor.memory"] for one in started] == ["700m"] * 2
    assert started[0]["spark.a"] == "b"
    assert started[0]["spark.eventLog.dir"] == (tmp_path / "log").as_uri()
