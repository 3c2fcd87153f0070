"""What the line's process is told: what cannot be is answered with a message, in one line, and nothing hangs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from emulated_links import profile
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from emulation.kernel.namespace import KernelError
from emulation.line import words
from emulation.line.alarm import Alarm
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


STATES = {"link": 2, "cell-2": 5}


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b"late", Word("late")),
        (b"counts link", Word("counts", "link")),
        (b" steps  cell-2 ", Word("steps", "cell-2")),
        (b"start link 123456789012345678", Word("start", "link", 123456789012345678)),
        (b"enter link 0", Word("enter", "link", 0)),
        (b"enter cell-2 4", Word("enter", "cell-2", 4)),
    ],
)
def test_words_are_understood(line: bytes, word: Word) -> None:
    assert words.parse(line, states=STATES) == word


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "'' is none of late, here, add, counts"),
        (b"count", "'count' is none of"),
        (b"\xff\xfe", "is none of"),
        (b"late link", "late is about no link"),
        (b"counts", "counts needs one of the links link, cell-2"),
        (b"counts cell-3", "counts needs one of the links link, cell-2"),
        (b"counts link 1", "counts needs 0 numbers"),
        (b"enter 1", "enter needs one of the links"),
        (b"enter link", "enter needs 1 numbers"),
        (b"enter link 1 2", "enter needs 1 numbers"),
        (b"enter link -1", "'-1' is no number"),
        (b"enter link 2", "the plan has 2 states"),
        (b"enter cell-2 5", "the plan has 5 states"),
        (b"enter link 1e3", "'1e3' is no number"),
        (b"start link " + b"9" * 300, "is none of"),
        (b"start link " + b"9" * 30, "is no number"),
        (b"start link \xc2\xb2", "is no number"),
    ],
)
def test_other_words_are_refused_by_what_is_wrong(line: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        words.parse(line, states=STATES)


@given(st.binary(max_size=400))
@example(b"enter link 1")
def test_any_line_is_a_word_or_refused(line: bytes) -> None:
    try:
        word = words.parse(line, states=STATES)
    except ValueError:
        pass
    else:
        assert line.split()[0] == word.name.encode()


def test_a_word_about_a_link_is_refused_where_there_is_none() -> None:
    with pytest.raises(ValueError, match=r"counts needs one of the links \(there is none\)"):
        words.parse(b"counts link", states={})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"add", "'' is no name of a link"),
        (b"add {}", "'{}' is no name of a link"),
        (b"add two\tnames {}", "is no name of a link"),
        (b"add " + b"x" * 33 + b" {}", "is no name of a link"),
        (b"add \xff {}", "is no name of a link"),
        (b"add link {}", "there is a link 'link' already"),
    ],
)
def test_a_new_link_needs_a_name_of_its_own(line: bytes, message: str) -> None:
    assert words.gives_a_link(line)
    with pytest.raises(ValueError, match=message):
        words.new_link(line, there=STATES)


class Conversation:
    """A line's process without the process; its ports are never read."""

    def __init__(self) -> None:
        self.given, self.asking = os.pipe()
        self.answers, answering = os.pipe()
        for handle in (self.given, self.answers):
            os.set_blocking(handle, False)
        self._handles = (self.given, self.asking, self.answers, answering)
        self._alarm = Alarm((), now_ns=0)
        self.served = Served(self.given, answering, opened)
        self.served.loop = Loop(self._alarm, self.given, self.served.told)

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

    def add(self, name: str, **change: object) -> dict[str, Any]:
        """What is answered to a link's request."""
        (answer,) = self.say(f"add {name} {json.dumps(request(**change))}\n".encode())
        return answer

    def close(self) -> None:
        self.served.close()
        self._alarm.close()
        for handle in self._handles:
            os.close(handle)


def opened(request: Request, owned: ExitStack) -> tuple[list[int], bool]:
    """Pipes in the place of devices."""
    pairs = [os.pipe2(os.O_NONBLOCK) for _ in range(len(request.macs) + 1)]
    for handle in sum(pairs, ()):
        owned.callback(os.close, handle)
    return [reading for reading, _ in pairs], True


@pytest.fixture(name="process")
def asked_process() -> Iterator[Conversation]:
    one = Conversation()
    yield one
    one.close()


@pytest.fixture(name="line")
def asked_line(process: Conversation) -> Conversation:
    """With a link."""
    assert process.add("link")["error"] == ""
    return process


def test_each_line_has_one_answer_and_a_faulty_one_says_why(line: Conversation) -> None:
    found = line.say(b"counts link\nenter link 7\nrenumber link\n\nenter link 1\nlate\nhere\n")
    assert [bool(one["error"]) for one in found] == [False, True, False, True, False, False, False]
    assert found[0]["queues"]["uplink-0"] == [0, 0, 0, 0]
    assert line.served._links["link"].carried.line.state.sides[0].uplink.rate == 2e6


def test_counters_are_read_behind_the_steps_that_are_due_by_then(process: Conversation) -> None:
    """A frame that is 10 ms on the air, which it leaves 5 ms after an outage began; nobody has played that yet."""
    outage = profile(rate=1e6, timeline=[{"at": 1, "outage": 60}]).model_dump(mode="json")
    assert process.add("link", profile=outage)["error"] == ""
    carried, start_ns = process.served._links["link"].carried, time.monotonic_ns() - 1_500_000_000
    process.say(f"start link {start_ns}\n".encode())
    carried.line.medium.arrive(start_ns + 995_000_000, 1, bytes(12) + b"\x08\x00" + bytes(1236))
    counts, steps = process.say(b"counts link\nsteps link\n")
    assert (counts["queues"]["uplink-0"][0], counts["dark"]) == (1, {"uplink": 1, "downlink": 0})
    assert [number for number, _ in steps["played"]] == [0]


def test_a_line_may_come_in_pieces_and_one_without_an_end_is_refused(line: Conversation) -> None:
    assert line.say(b"cou") == []
    assert len(line.say(b"nts link\nlat")) == 1
    assert len(line.say(b"e\n")) == 1
    (answer,) = line.say(b"x" * 1000)
    assert "is none of" in answer["error"]
    assert line.say(b"steps link\n") == [{"error": "", "played": []}]


def test_a_request_may_come_in_pieces_however_long_it_is(process: Conversation) -> None:
    text = f"add link {json.dumps(request())}{' ' * 1000}".encode()
    assert len(text) > 2 * words.LONGEST
    for start in range(0, len(text), 500):
        assert process.say(text[start : start + 500]) == []
    (answer,) = process.say(b"\nlate\n")[:1]
    assert answer["lists"] == {one.name: one.digest for one in PLAN.losses}


def test_links_come_and_go_and_each_is_asked_for_itself(line: Conversation) -> None:
    assert line.add("cell2", seed=2)["lists"].keys() == {one.name for one in PLAN.losses}
    assert "there is a link 'cell2' already" in line.add("cell2")["error"]
    line.say(b"enter cell2 1\n")
    rates = {name: one.carried.line.state.sides[0].uplink.rate for name, one in line.served._links.items()}
    assert rates == {"link": 1e6, "cell2": 2e6}
    first, removed, gone, other = line.say(b"counts cell2\nremove cell2\ncounts cell2\ncounts link\n")
    assert not any(one["error"] for one in (first, removed, other))
    assert gone["error"] == "'counts cell2': counts needs one of the links link"
    assert line.add("cell2")["error"] == "", "a name is free again"


def test_a_link_that_cannot_be_leaves_the_others_and_nothing_of_itself(
    line: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_back = []

    def refused(_: Request, owned: ExitStack) -> tuple[list[int], bool]:
        owned.callback(given_back.append, "device")
        raise KernelError("no more devices")

    monkeypatch.setattr(line.served, "_opened", refused)
    assert line.add("cell2")["error"] == "no more devices"
    assert given_back == ["device"]
    assert list(line.served._links) == ["link"]
    assert line.say(b"counts link\n")[0]["error"] == ""


def test_what_is_wrong_with_frames_is_told_of_all_links_that_there_are_together(line: Conversation) -> None:
    line.add("cell2")
    for number, link in enumerate(line.served._links.values(), 1):
        link.carried.tally.refused, link.carried.tally.too_large, link.carried.tally.largest = number, 2, 1600 * number
    (late,) = line.say(b"late\n")
    assert (late["refused"], late["too_large"], late["largest"]) == (3, 4, 3200)
    line.say(b"remove cell2\n")
    (late,) = line.say(b"late\n")
    assert (late["refused"], late["too_large"], late["largest"]) == (1, 2, 1600)


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


STRANGER = {"profile": profile(stations={"sta9": {"delay": 0.1}}).model_dump(mode="json")}


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"\xff" * 100_000, json.dumps(request(**STRANGER)).encode()],
    ids=["nothing", "half", "no text", "a station that is not there"],
)
def test_a_request_for_nothing_that_can_be_is_answered_so_and_the_next_one_may_be_better(
    process: Conversation, text: bytes
) -> None:
    whole, piece = b"add a " + text + b"\n", 50_000  # a pipe holds 65,536
    (answer,) = [one for start in range(0, len(whole), piece) for one in process.say(whole[start : start + piece])]
    assert answer["error"].startswith("the line's process was asked for what cannot be: ")
    assert process.add("a")["error"] == ""


def test_a_process_that_is_told_nothing_ends_with_nothing_to_say() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "emulation.line.process"], input=b"late\n", capture_output=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    (answer,) = ended.stdout.splitlines()
    assert json.loads(answer)["error"] == ""


def test_the_process_imports_nothing_that_it_can_do_without() -> None:
    """It is started for every trial: 0.25 s, of which numpy and pydantic are 0.2."""
    heavy = "{'pyroute2', 'scipy', 'pyarrow', 'pandas', 'asyncio', 'psutil', 'yaml', 'mininet'}"
    told = subprocess.run(
        [sys.executable, "-c", f"import sys, emulation.line.process; print(sorted({heavy} & set(sys.modules)))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.strip() == "[]"
