"""What is asked of Linux: namespaces, netlink, nftables, queueing disciplines, offloads."""
