"""A process that has imported what load tests start, and is forked in place of each start of Python (see `warm`).

`python -m warm_process`, with a Unix socket (SOCK_SEQPACKET) to its owner as standard input, with whom it ends.
"""

from __future__ import annotations

import array
import ctypes
import gc
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

from experiments.load import nursery_process
from stacks.reference import __main__ as reference

STREAMS, LONGEST = 3, 1 << 17
MAINS: Mapping[str, Callable[[], int]] = {
    "experiments.load.nursery_process": nursery_process.main,
    "stacks.reference": reference.main,
}
_PR_SET_PDEATHSIG = 1


def main() -> NoReturn:
    """Fork whatever is asked for, and hand out descriptors of the processes."""
    owner = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGCHLD, _reap)
    gc.collect()
    gc.freeze()
    while True:
        text, streams, _, _ = socket.recv_fds(owner, LONGEST, STREAMS)
        if not text:
            os._exit(0)
        asked, mine = json.loads(text), os.getpid()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])  # it is not reaped before its descriptor is open
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            _become(asked["words"], asked["environment"], streams, mine)
        process = os.pidfd_open(pid)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        handed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [process]))]
        owner.sendmsg([str(pid).encode()], handed)
        for one in (process, *streams):
            os.close(one)


def _reap(*_: object) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _become(words: Sequence[str], environment: Mapping[str, str], streams: Sequence[int], parent: int) -> NoReturn:
    status = 1
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() == parent:
            for number, one in enumerate(streams):
                os.dup2(one, number)
            os.closerange(STREAMS, os.sysconf("SC_OPEN_MAX"))
            os.environ.clear()
            os.environ.update(environment)
            sys.argv = list(words)
            status = MAINS[words[0]]()
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:  # noqa: BLE001 - nothing of it may go on in the loop that it was forked off
        traceback.print_exc()
    os._exit(status)


if __name__ == "__main__":
    main()
