"""Where clients come from: a process that has imported what they import, and is forked for each of them.

`python -m experiments.load.nursery_process`, with a Unix socket (SOCK_SEQPACKET) to its owner as standard input.  A
client so costs no import, which is half a second of a processor (`python benchmarks/client_start.py`).  It has one
thread of its own, opens nothing and starts nothing else: what is forked off it is as if it had just been started.
"""

from __future__ import annotations

import ctypes
import gc
import os
import selectors
import signal
import socket
import sys
import traceback
from typing import NoReturn

from emulation.kernel.namespace import KernelError, enter
from experiments.load import client
from experiments.load.nursery import LONGEST, STREAMS, Birth, Born, Gone
from experiments.workers.lines import read

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_COMM = 15  # bytes of a process's name that the kernel keeps
_NO_NAMESPACE = 2


def main() -> NoReturn:
    """Fork a client for each request, and tell how each ends, until the owner has gone: then nothing stays."""
    owner = socket.socket(fileno=0)
    gc.collect()
    gc.freeze()  # what was imported is shared with the clients, and never looked through again
    children: dict[int, tuple[int, int]] = {}
    with selectors.DefaultSelector() as waiting:
        waiting.register(owner, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.fileobj is owner:
                    text, streams, _, _ = socket.recv_fds(owner, LONGEST, STREAMS)
                    if not text:
                        _end(children)
                    birth = read(text, Birth)
                    pid = _fork(birth, streams)
                    ended = os.pidfd_open(pid)
                    children[ended] = birth.number, pid
                    waiting.register(ended, selectors.EVENT_READ)
                    owner.send(Born(number=birth.number, pid=pid).model_dump_json().encode())
                else:
                    waiting.unregister(key.fileobj)
                    number, pid = children[key.fd]
                    # It is reaped at the end only: until then nobody else gets its number, which its owner may signal.
                    status = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
                    assert status is not None
                    code = status.si_status if status.si_code == os.CLD_EXITED else -status.si_status
                    owner.send(Gone(number=number, status=code).model_dump_json().encode())


def _fork(birth: Birth, streams: list[int]) -> int:
    """The client's process id; here it does not return in the client."""
    nursery = os.getpid()
    pid = os.fork()
    if pid:
        for one in streams:
            os.close(one)
        return pid
    try:
        os.setsid()
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != nursery:
            os._exit(1)
        for number, one in enumerate(streams):
            os.dup2(one, number)
        os.closerange(STREAMS, os.sysconf("SC_OPEN_MAX"))
        with open("/proc/self/comm", "wb") as name:
            name.write(f"client {birth.node}".encode()[:_COMM])
        if birth.namespace is not None:
            enter(birth.namespace)
        client.main()
    except (KernelError, OSError) as error:  # what goes wrong in the client it tells its owner itself
        print(error, file=sys.stderr, flush=True)
        os._exit(_NO_NAMESPACE)
    except BaseException:  # noqa: BLE001 - nothing of the client may go on in the nursery's loop
        traceback.print_exc()
    os._exit(1)


def _end(children: dict[int, tuple[int, int]]) -> NoReturn:
    for ended, (_, pid) in children.items():
        signal.pidfd_send_signal(ended, signal.SIGKILL)
        os.waitpid(pid, 0)
    os._exit(0)


if __name__ == "__main__":
    main()
