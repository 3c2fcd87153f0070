"""A worker and its owner: requests, answers, and what becomes of those that cannot be read."""

from __future__ import annotations

import sys

import pytest

from experiments.tools.calibration import Request
from experiments.workers.lines import ProtocolError, read
from experiments.workers.worker import Failed, Interrupted, Workers

ANSWERS = """
from experiments.tools.calibration import Request
from experiments.workers.worker import asked_for
request, say = asked_for(Request)
print("not an answer")
say(request)
"""


def answers(request: str, workers: Workers) -> list[str]:
    with workers.started([sys.executable, "-c", ANSWERS], request, messages=sys.stderr) as worker:
        assert workers.pids() == (worker.process.pid,)
        return list(worker.answers)


def test_a_worker_answers_its_request_and_nothing_else_that_it_prints_is_an_answer() -> None:
    workers, request = Workers(), Request(profiles=(), seed=7)
    assert [read(line, Request) for line in answers(request.model_dump_json(), workers)] == [request]
    assert workers.pids() == ()


@pytest.mark.parametrize(
    ("request_line", "words"), [("no JSON", "Invalid JSON"), ('{"profiles": []}', "seed: Field required"), ("", "EOF")]
)
def test_a_request_that_cannot_be_read_is_answered_in_words(request_line: str, words: str) -> None:
    (line,) = answers(request_line, Workers())
    failed = read(line, Failed)
    assert failed.message.startswith("the request is no Request: ")
    assert words in failed.message


def test_none_begins_when_its_owner_is_leaving() -> None:
    workers = Workers()
    workers.end()
    with pytest.raises(Interrupted):
        answers("{}", workers)


@pytest.mark.parametrize("line", ["", "{}", "[]", "word"])
def test_a_line_that_is_no_record_is_told_with_its_words(line: str) -> None:
    with pytest.raises(ProtocolError, match=r"\(in "):
        read(line, Request)
