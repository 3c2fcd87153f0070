"""The command line."""

import os
import time

# Imports of the verbs take seconds, and count in `--for`.
BEGUN_AT = time.monotonic()
# numpy's BLAS starts a thread per core, which spin as every process of a campaign begins; nothing here needs them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
