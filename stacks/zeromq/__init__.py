"""ZeroMQ: sockets of the clients' own that speak ZMTP 3 over TCP to each other, without a server."""
