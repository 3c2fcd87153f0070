"""A link made by the kernel's own means: htb, netem and nftables."""
