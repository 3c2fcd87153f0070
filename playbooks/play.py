"""ansible-playbook for a lab that plays often, a fifth cheaper: left to itself, the garbage collector looks through all
that Ansible has imported again and again.
"""

import gc
import sys

gc.disable()

from ansible.cli.playbook import main  # noqa: E402

gc.freeze()
gc.set_threshold(50_000, 20, 20)
gc.enable()

if __name__ == "__main__":
    sys.exit(main())
