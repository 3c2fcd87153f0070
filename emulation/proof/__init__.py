"""Proof that a link does what was asked: by probes before a trial, by counters after it."""
