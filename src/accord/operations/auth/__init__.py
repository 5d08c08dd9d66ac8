"""Authentication: users, their tokens and their login sessions.

server_key      the key from which all secrets are derived
credentials     tokens, cookies, credentials of a request, client addresses, batched look-ups
authentication  finds the caller of a request, for every adapter
accounts        `Accounts`: authenticates callers, signs users in and out
users           users, tokens and sessions as values; rules for names and passwords
passwords       Argon2id, in threads of its own
attempts        delays after wrong passwords, and audit records of failures
operations      operations on users, tokens and sessions
storage         tables of users, tokens and sessions; revoked callers; the first administrator
"""
