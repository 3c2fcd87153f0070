"""Throwaway network namespaces for the playbooks' tests."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def throwaway_namespace() -> Iterator[int]:
    """A process in a network namespace of its own with loopback up; both end with the block."""
    words = ["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 1000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as sleeper:
        try:
            assert sleeper.stdout is not None
            assert sleeper.stdout.readline() == b"up\n"
            yield sleeper.pid
        finally:
            sleeper.kill()
