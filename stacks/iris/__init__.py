"""Iris: a decentralised overlay with a node process on every host, after Szilágyi (2014).

Deciding is pure and has its time from outside: `noise`, `session`, `ids`, `table`, `trees`, `overlay`, `patterns`,
`relay`, `wheel`.  Doing is `node` (asyncio), `client` and `driver`.
"""
