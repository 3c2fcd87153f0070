"""Packet captures: reading pcap and pcapng files as columns."""
