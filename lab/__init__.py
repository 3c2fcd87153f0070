"""The command line."""

import os
import sys
import time

# Imports of the verbs take seconds, and count in `--for`.
BEGUN_AT = time.monotonic()
# A command may be started with them closed, by a hook or a daemon.
for _number, _name in enumerate(("stdin", "stdout", "stderr")):
    if getattr(sys, _name) is None:
        setattr(sys, _name, open(os.devnull, "w" if _number else "r"))  # noqa: SIM115 - as long as the process lives
# numpy's BLAS starts a thread per core, which spin as every process of a campaign begins; nothing here needs them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
