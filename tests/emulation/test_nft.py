from __future__ import annotations

import json
import os
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


def test_a_machine_without_the_package_is_told_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nftables", None)
    with pytest.raises(KernelError, match="apt-get install python3-nftables"):
        Nft(os.getpid())
