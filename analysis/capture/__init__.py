"""Packet captures: reading pcap files as columns, and what TCP did in them."""
