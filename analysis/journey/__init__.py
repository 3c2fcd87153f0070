"""The journey of a message: the ledger joined with the packets, and each delivery's latency split into parts."""
