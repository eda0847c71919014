"""The reference behind the wire, like every other implementation: `serve` is the server, `loopback` the program.

`stepwise` holds the algorithms with every step replaceable; wrong implementations override one.
"""
