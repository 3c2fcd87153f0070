from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from emulation.kernel.namespace import KernelError, throwaway_namespace
from emulation.kernel.nft import Nft


@pytest.mark.root
def test_a_program_is_one_transaction_and_what_is_refused_leaves_nothing_behind() -> None:
    with throwaway_namespace() as pid, Nft(pid) as nft:
        nft.run("add table bridge kept")
        with pytest.raises(KernelError, match="nft add table bridge gone: Error: Could not process rule: No such file"):
            nft.run("add table bridge gone\nadd rule bridge gone nowhere counter")
        assert nft.run("list ruleset").split() == ["table", "bridge", "kept", "{", "}"]
        assert [one["table"]["name"] for one in json.loads(nft.run("list tables", json=True))["nftables"][1:]] == [
            "kept"
        ]


MANY = """
import os, resource
from emulation.kernel.namespace import KernelError
from emulation.kernel.nft import Nft

resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000))
for _ in range(1100):
    os.open(os.devnull, os.O_RDONLY)
with Nft(os.getpid()) as nft:
    nft.run("add table bridge kept")
    try:
        nft.run("add rule bridge gone nowhere counter")
    except KernelError as error:
        print(error)
    print(nft.run("list tables", json=True))
"""


@pytest.mark.root
def test_a_process_with_very_many_open_files_can_use_it() -> None:
    """The library itself would end it: `*** buffer overflow detected ***`, SIGABRT."""
    with throwaway_namespace() as pid:
        command = ["nsenter", "--net", "--target", str(pid), sys.executable, "-c", MANY]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    refused, *_, listed = done.stdout.strip().splitlines()
    tables = json.loads(listed)
    assert refused.startswith("nft add rule bridge gone nowhere counter: ")
    assert "No such file" in refused
    assert [one["table"]["name"] for one in tables["nftables"] if "table" in one] == ["kept"]


def test_a_machine_without_the_package_is_told_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nftables", None)
    with pytest.raises(KernelError, match="apt-get install python3-nftables"):
        Nft(os.getpid())
