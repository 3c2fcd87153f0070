"""Networks without IPv6, on kernels that have it and on kernels that were booted without it."""

from __future__ import annotations

from emulation.kernel.namespace import read_sysctl, write_sysctl

_DISABLED = "net.ipv6.conf.all.disable_ipv6"


def turn_off() -> None:
    """Turn IPv6 off in the calling thread's network namespace, for interfaces to come too; KernelError when refused.

    A kernel booted with ipv6.disable=1 has nothing to turn off, nor the setting for it.
    """
    if read_sysctl(_DISABLED) not in ("", "1"):
        write_sysctl(_DISABLED, "1")
