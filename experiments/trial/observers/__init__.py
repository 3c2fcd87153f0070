"""What is read while a trial runs: machine, processes, queues, connections, disk."""
