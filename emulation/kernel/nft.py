"""libnftables in this process: a command costs a system call or two instead of a new process."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any

from emulation.kernel.namespace import KernelError, in_namespace


class Nft:
    """nftables of the network namespace of process `pid`."""

    def __init__(self, pid: int) -> None:
        self._nft = in_namespace(pid, _opened)
        self._one_at_a_time = threading.Lock()

    def __enter__(self) -> Nft:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def run(self, program: str, *, json: bool = False) -> str:
        """Run a program of nft commands as one transaction and return what it prints; KernelError when refused."""
        with self._one_at_a_time:
            self._nft.set_json_output(json)
            failed, said, complaint = self._nft.cmd(program)
        if failed:
            raise KernelError(f"nft {program.strip().splitlines()[0][:120]}: {complaint.strip()[-2000:]}")
        return str(said)

    def close(self) -> None:
        """Give the socket back; what was loaded stays."""
        self._nft = None


def _opened() -> Any:
    """Its socket stays in the namespace in which it is opened."""
    try:
        from nftables import Nftables  # noqa: PLC0415 - Debian's, so that it may be missing
    except ImportError as error:
        cure = "apt-get install python3-nftables"
        raise KernelError(f"{sys.executable} finds no module nftables; this brings it: {cure}") from error
    return Nftables()
