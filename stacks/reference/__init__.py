"""A small publish/subscribe broker of our own, in memory, with faults that can be switched on.

It exists so that tests know what the truth is: the server that drops every tenth message has dropped exactly
every tenth message.
"""
