"""What the line's process is told: what cannot be is answered with a message, in one line, and nothing hangs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from emulated_links import profile
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from emulation.line import words
from emulation.line.layout import Line
from emulation.line.loop import Loop
from emulation.line.process import Served
from emulation.line.request import Request
from emulation.line.words import Word
from emulation.plan import linkplan

MACS = {"sta1": bytes([2, 0, 0, 0, 0, 1]), "sta2": bytes([2, 0, 0, 0, 0, 2])}
PLAN = linkplan.plan(
    profile(rate=1e6, timeline=[{"at": 1, "change": {"rate": 2e6}}]), list(MACS), seed=1, seconds=5, timeline_s=5,
    made_by="line",
)  # fmt: skip


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b"counts", Word("counts")),
        (b" steps ", Word("steps")),
        (b"start 123456789012345678", Word("start", 123456789012345678)),
        (b"enter 0", Word("enter", 0)),
        (b"enter 1", Word("enter", 1)),
    ],
)
def test_words_are_understood(line: bytes, word: Word) -> None:
    assert words.parse(line, states=2) == word


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "'' is none of counts, late"),
        (b"count", "'count' is none of"),
        (b"\xff\xfe", "is none of"),
        (b"counts 1", "counts needs 0 numbers"),
        (b"enter", "enter needs 1 numbers"),
        (b"enter 1 2", "enter needs 1 numbers"),
        (b"enter -1", "'-1' is no number"),
        (b"enter 2", "the plan has 2 states"),
        (b"enter 1e3", "'1e3' is no number"),
        (b"start " + b"9" * 300, "is none of"),
        (b"start " + b"9" * 30, "is no number"),
        (b"start \xc2\xb2", "is no number"),
    ],
)
def test_other_words_are_refused_by_what_is_wrong(line: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        words.parse(line, states=2)


@given(st.binary(max_size=400))
@example(b"enter 1")
def test_any_line_is_a_word_or_refused(line: bytes) -> None:
    try:
        word = words.parse(line, states=2)
    except ValueError:
        pass
    else:
        assert line.split()[0] == word.name.encode()


class Conversation:
    """A line that is asked without a process; its ports are never read."""

    def __init__(self) -> None:
        self.given, self.asking = os.pipe()
        self.answers, answering = os.pipe()
        for handle in (self.given, self.answers):
            os.set_blocking(handle, False)
        ports = [os.pipe2(os.O_NONBLOCK) for _ in range(len(MACS) + 1)]
        self.served = Served(Line(PLAN, MACS), self.given, answering)
        self.served.loop = Loop(self.served.line, [port for port, _ in ports], self.given, self.served.told)
        self._handles = (self.given, self.asking, self.answers, answering, *sum(ports, ()))

    def say(self, text: bytes) -> list[dict[str, Any]]:
        """Whatever is answered to that."""
        os.write(self.asking, text)
        assert self.served.told()
        try:
            found = os.read(self.answers, 1 << 20)
        except BlockingIOError:
            return []
        assert found.endswith(b"\n")
        return [json.loads(line) for line in found.splitlines()]

    def close(self) -> None:
        for handle in self._handles:
            os.close(handle)


@pytest.fixture(name="line")
def asked_line() -> Iterator[Conversation]:
    one = Conversation()
    yield one
    one.close()


def test_each_line_has_one_answer_and_a_faulty_one_says_why(line: Conversation) -> None:
    found = line.say(b"counts\nenter 7\nrenumber\n\nenter 1\nlate\n")
    assert [bool(one["error"]) for one in found] == [False, True, False, True, False, False]
    assert found[0]["queues"]["uplink-0"] == [0, 0, 0, 0]
    assert line.served.line.state.sides[0].uplink.rate == 2e6


def test_a_line_may_come_in_pieces_and_one_without_an_end_is_refused(line: Conversation) -> None:
    assert line.say(b"cou") == []
    assert len(line.say(b"nts\nlat")) == 1
    assert len(line.say(b"e\n")) == 1
    (answer,) = line.say(b"x" * 1000)
    assert "is none of" in answer["error"]
    assert line.say(b"steps\n") == [{"error": "", "played": []}]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=60).filter(lambda one: b"\n" not in one), max_size=8))
def test_as_many_answers_as_lines(line: Conversation, lines: list[bytes]) -> None:
    found = line.say(b"".join(one + b"\n" for one in lines)) if lines else []
    assert len(found) == len(lines)


def request(**change: object) -> dict[str, Any]:
    macs = {name: mac.hex(":") for name, mac in MACS.items()}
    found: dict[str, Any] = Request.of(PLAN, pid=1, macs=macs).model_dump(mode="json")
    return found | change


BAD = [
    ({"macs": {}}, "macs: of no station"),
    ({"macs": {"sta1": "020000000001"}}, "macs: of sta1, and not of each station"),
    ({"macs": {"sta1": "020000000001", "sta2": "020000000001"}}, "two stations have the same"),
    ({"macs": {"sta1": "02:0", "sta2": "020000000002"}}, "macs.sta1"),
    ({"pid": 0}, "pid"),
    ({"seconds": -1}, "seconds"),
    ({"seconds": "inf"}, "seconds"),
    ({"profile": {"rate": 1}}, "profile"),
    ({"more": 1}, "more"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=str)
def test_a_request_that_cannot_be_is_refused_by_its_key(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Request.model_validate_json(json.dumps(request(**change)))


def test_a_request_makes_the_same_plan_again() -> None:
    again = Request.model_validate_json(json.dumps(request())).plan()
    assert again.steps == PLAN.steps
    assert [one.digest for one in again.losses] == [one.digest for one in PLAN.losses]


def asked(text: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "emulation.line.process"], input=text, capture_output=True, timeout=60, check=False
    )


STRANGER = {"profile": profile(stations={"sta9": {"delay": 0.1}}).model_dump(mode="json")}


@pytest.mark.parametrize(
    "text",
    [b"", b"\n", b"{", b"\xff" * 100_000 + b"\n", json.dumps(request(**STRANGER)).encode() + b"\ncounts\n"],
    ids=["nothing", "empty", "half", "no text", "a station that is not there"],
)
def test_a_process_that_is_asked_for_nothing_that_can_be_says_so_and_ends(text: bytes) -> None:
    ended = asked(text)
    assert ended.returncode == 1
    (answer,) = ended.stdout.splitlines()
    assert json.loads(answer)["error"].startswith("the line's process was asked for what cannot be: ")
    assert ended.stderr == b""


def test_the_process_imports_nothing_that_it_can_do_without() -> None:
    """It is started for every link that is put in force: 0.25 s, of which numpy and pydantic are 0.2."""
    heavy = "{'pyroute2', 'scipy', 'pyarrow', 'pandas', 'asyncio', 'psutil', 'yaml', 'mininet'}"
    told = subprocess.run(
        [sys.executable, "-c", f"import sys, emulation.line.process; print(sorted({heavy} & set(sys.modules)))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.strip() == "[]"
