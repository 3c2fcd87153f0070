"""What becomes of messages when servers are killed is told in words, too, where its process has no answer."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from experiments.conformance import restart
from experiments.conformance.restart import Restarted, Task, tried
from experiments.workers.worker import Failed

ANSWER = Restarted(answered=20, synced=20, arrived=19)
WHOLE = ANSWER.model_dump_json()


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (f"{WHOLE}\n", ANSWER),
        (WHOLE[:20], "its process ended before it had an answer"),
        ("", "its process ended before it had an answer"),
        (f"{Failed(kind='OSError', message='no such luck').model_dump_json()}\n", "no such luck"),
    ],
    ids=["whole", "half a line", "nothing", "why"],
)
def test_a_process_that_ended_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, found: Restarted | str
) -> None:
    installed: list[object] = []
    monkeypatch.setattr(restart, "apply", lambda actions, *_, **__: installed.extend(actions))
    words = ["sh", "-c", f"read request; printf %s {shlex.quote(said)}"]
    monkeypatch.setattr(restart, "isolated", lambda *_: words)
    task = Task(stack="reference", knobs={}, folder=str(tmp_path))
    with (tmp_path / "messages").open("w") as messages:
        assert tried(task, messages=messages) == found
    assert installed == ["install"], "where there is a network"
