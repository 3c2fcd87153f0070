"""Which code makes reductions: a change of what reducing imports, or of a library's version, is another."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from analysis.reductions import code


def test_the_code_is_what_reducing_imports_and_nothing_else() -> None:
    names = {str(path.relative_to(code.ROOT)) for path in code.imported()}
    assert {"analysis/trial.py", "analysis/tcp/rtt.py", "analysis/measures/retries.py", "records/waits.py"} <= names
    assert not [name for name in names if name.startswith(("analysis/report", "analysis/plots", "analysis/spark"))]


def test_another_version_of_a_library_is_another_code(monkeypatch: pytest.MonkeyPatch) -> None:
    found = code.libraries(code.imported())
    assert {"numpy", "pyarrow", "scipy"} <= set(found)
    assert all(found.values())
    assert not {"analysis", "records", "os", "matplotlib", "pyspark"} & set(found)
    before = code.code_digest()
    monkeypatch.setattr(code, "version", lambda name: "99.0" if name == "numpy" else found[name])
    assert code.code_digest() != before


def test_a_library_is_found_by_the_name_of_its_module(tmp_path: Path) -> None:
    (tmp_path / "start.py").write_text("import yaml, not_installed\n")
    found = code.libraries(code.imported("start", tmp_path), tmp_path)
    assert found == {"not_installed": "", "yaml": version("PyYAML")}


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ("a/start.py", True),
        ("a/below/__init__.py", True),
        ("a/below/taken.py", True),
        ("a/below/beside.py", False),
        ("a/late.py", True),
        ("a/relative.py", True),
        ("a/found/where_it_lies.py", True),
        ("a/other.py", False),
    ],
)
def test_a_change_of_what_is_imported_is_another_code(tmp_path: Path, changed: str, counts: bool) -> None:
    text = {
        "a/__init__.py": "",
        "a/start.py": "import os\nfrom a.below import taken\ndef f():\n    from a.late import g\n",
        "a/below/__init__.py": "",
        "a/below/taken.py": "from a import found\n",
        "a/below/beside.py": "",
        "a/late.py": "from .relative import h\n",
        "a/relative.py": "import a.start\n",
        "a/found/__init__.py": "",
        "a/found/where_it_lies.py": "",
        "a/other.py": "",
    }
    for name, content in text.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    before = code.code_digest("a.start", tmp_path)
    assert before == code.code_digest("a.start", tmp_path)
    (tmp_path / changed).write_text(text[changed] + "x = 1\n")
    assert (code.code_digest("a.start", tmp_path) != before) is counts
