"""A crowd of strangers who send large messages and never finish them: what that costs a server."""
