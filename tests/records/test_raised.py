"""Where an added module failed is its own line, however deep in a library the error was raised."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from records.raised import located

ADDED = """import json
def read(text):
    return json.loads(text)["key"]

def plan(text):
    return read(text)
"""


@pytest.mark.parametrize(
    ("text", "said"), [("{}", r"added.py:3: KeyError: 'key'"), ("{", "added.py:3: JSONDecodeError: ")]
)
@pytest.mark.parametrize("beside", [True, False])
def test_the_line_is_the_last_one_of_the_module_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str, *, beside: bool
) -> None:
    (tmp_path / "added.py").write_text(ADDED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "added", raising=False)
    module = import_module("added")
    with pytest.raises((KeyError, ValueError)) as caught:
        module.plan(text)
    assert located(caught.value, within=tmp_path if beside else None).startswith(said)


def test_an_error_that_no_line_of_the_folder_raised_has_the_last_line_there_is(tmp_path: Path) -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        import_module("no_such_module")
    assert located(caught.value, within=tmp_path).endswith(": ModuleNotFoundError: No module named 'no_such_module'")
