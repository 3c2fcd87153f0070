"""Services that tests deploy do not outlive the process that deployed them."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SUPPORT = Path(__file__).parents[1] / "support"
DEPLOYS = """
import subprocess, sys
from pathlib import Path
from playbook_modules import load
from service_ends import ending_with_us

module, scratch = load("service_process"), Path(sys.argv[1])
folder = scratch / "trial" / ".scratch" / "node" / "service"
folder.mkdir(parents=True, mode=0o700)
with ending_with_us(scratch):
    server = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, start_new_session=True)
    module.Process(server.pid, module._stat(server.pid)[1]).save(folder / "pid")
    print(server.pid, flush=True)
    sys.stdin.read()
"""


@contextmanager
def deployed(scratch: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that has deployed a service, and a handle of that, which is ended in any case."""
    command = [sys.executable, "-c", DEPLOYS, scratch]
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True) as us:
        assert us.stdout
        handle = os.pidfd_open(int(us.stdout.readline()))
        try:
            yield us, handle
        finally:
            us.kill()
            if not ended(handle, within_s=0):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)


def ended(handle: int, *, within_s: float) -> bool:
    return bool(select.select([handle], [], [], within_s)[0])


def test_a_service_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    with deployed(tmp_path) as (us, service):
        us.kill()
        assert ended(service, within_s=60)


def test_a_service_ends_with_the_block_of_a_process_that_goes_on(tmp_path: Path) -> None:
    with deployed(tmp_path) as (us, service):
        us.communicate()
        assert us.returncode == 0
        assert ended(service, within_s=1)
