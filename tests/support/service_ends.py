"""Services that tests deploy end with the process that deployed them, whatever ends that."""

from __future__ import annotations

import site
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def ending_with_us(scratch: Path) -> Iterator[None]:
    """Services with a pid file anywhere below `scratch` are ended when the block, or this process, ends, however."""
    # Without the packages of this environment, which take longer to find than Python to start.
    command = [sys.executable, "-S", __file__, scratch]
    waits = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        waits.communicate()  # which closes what it reads


def _main(scratch: Path) -> None:
    sys.stdin.buffer.read()  # it ends with whoever has the other end
    pid_files = list(scratch.rglob("pid"))  # in experiments.deploy.service_folder
    if not pid_files:
        return
    site.main()
    import playbook_modules  # noqa: PLC0415 - imports slowly, and is seldom wanted

    module = playbook_modules.load("service_process")
    for pid_file in pid_files:
        if process := module.saved(pid_file):
            process.end(1.0)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
