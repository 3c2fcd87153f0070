"""Apache ActiveMQ 5, over STOMP and over OpenWire."""
