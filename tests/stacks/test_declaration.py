"""What a stack.toml may say, and what is said of one that says something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from stacks.declaration import DeclarationError, read

STACKS = '[stacks]\none = "stacks.one.driver:One"\n'


def declared(folder: Path, text: str) -> None:
    (folder / "stack.toml").write_text(text)
    read(folder, source="stacks/one")


def test_a_declaration_says_what_set_up_needs(tmp_path: Path) -> None:
    (tmp_path / "roles" / "one" / "tasks").mkdir(parents=True)
    (tmp_path / "stack.toml").write_text(
        STACKS + '[[debian]]\npackage = "one-server"\ndaemon = true\nversion = ["one", "-h"]\n'
        'pattern = "version (\\\\S+)"\n[[debian]]\npackage = "one-clients"\nname = "clients"\n'
        '[[python]]\nrequires = "py-one[fast]==1.2"\n'
    )
    found = read(tmp_path, source="stacks/one")
    assert found.stacks == {"one": "stacks.one.driver:One"}
    assert found.roles == ("one",)
    server, clients = found.debian
    assert (server.name, server.daemon, server.version) == ("one-server", True, ("one", "-h"))
    assert server.pattern == r"version (\S+)"
    assert (clients.name, clients.daemon, clients.version[-1]) == ("clients", False, "one-clients")
    assert [(one.name, one.requires) for one in found.python] == [("py-one", "py-one[fast]==1.2")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[stacks]\none = two", r"stack\.toml: is not TOML: .*line 2"),
        ("", r"stack\.toml: stacks: \{\} is not at least one line NAME = "),
        ("stacks = 3", r"stacks: 3 is not a table, \[stacks\]"),
        ('[stacks]\nOne = "a:B"', r"stacks\.One: 'One' is not a stack's name: words of a-z"),
        ('[stacks]\none = "a.b"', r"stacks\.one: 'a\.b' is not module:Class of a driver"),
        ("[stacks]\none = 1", r"stacks\.one: 1 is not module:Class"),
        (STACKS + "[server]", r"stack\.toml: server: no such key; there are stacks, debian, python"),
        (
            STACKS + '[debian]\npackage = "a"',
            r"debian: \{'package': 'a'\} is not a list of tables, each ",
        ),
        (STACKS + "[[debian]]", r"debian\[0\]\.package: is missing; it is the name of a package"),
        (STACKS + '[[debian]]\npackage = "-y"', r"debian\[0\]\.package: '-y' is not the name of a package"),
        (STACKS + '[[debian]]\npackage = "ab"\ndaemon = "yes"', r"daemon: 'yes' is not one of true, false"),
        (STACKS + '[[debian]]\npackage = "ab"\nport = 1', r"debian\[0\]\.port: no such key; there are package, daemon"),
        (STACKS + '[[debian]]\npackage = "ab"\nversion = "ab -h"', r"version: 'ab -h' is not a command as a list"),
        (STACKS + '[[debian]]\npackage = "ab"\nversion = ["ab"]\npattern = "("', r"pattern: '\(' is not a regular exp"),
        (STACKS + '[[debian]]\npackage = "ab"\nversion = ["ab"]\npattern = "a"', r"pattern: 'a' .* with one group"),
        (STACKS + '[[debian]]\npackage = "ab"\npattern = "(a)"', r"pattern: '\(a\)' .*there is no key version"),
        (STACKS + '[[debian]]\npackage = "ab"\nname = "a b"', r"name: 'a b' is not a name for its version"),
        (
            STACKS + '[[python]]\nrequires = "--pre"',
            r"python\[0\]\.requires: '--pre' is not a package with its",
        ),
        (STACKS + '[[python]]\nrequires = "a @ https://b"', r"requires: 'a @ https://b' is not a package"),
        (STACKS + '[[python]]\nname = "a"', r"python\[0\]\.name: no such key; there are requires"),
    ],
)
def test_a_wrong_declaration_is_told_with_file_key_value_and_what_is_allowed(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(DeclarationError, match=message) as caught:
        declared(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path}/stack.toml: ")


def test_a_folder_without_a_declaration_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"stack\.toml: cannot be read: No such file"):
        read(tmp_path, source="stacks/one")
