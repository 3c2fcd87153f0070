"""STOMP 1.2, the client's side.  Source: https://stomp.github.io/stomp-specification-1.2.html"""
