"""The load generator: one process per client node, told what to do and asked how it went over a pipe."""
