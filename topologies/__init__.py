"""Emulated networks: each module builds one shape and returns its nodes and its access point."""
