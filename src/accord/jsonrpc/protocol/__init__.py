"""JSON-RPC 2.0 on the wire, and the state of a connection. Pure: no I/O, clock or log."""
