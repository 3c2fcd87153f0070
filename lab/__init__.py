"""The command line."""

import time

# Imports of the verbs take seconds, and count in `--for`.
BEGUN_AT = time.monotonic()
