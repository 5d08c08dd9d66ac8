"""Authentication: users, their tokens and their login sessions.

server_key      the key from which all secrets are derived
credentials     credentials of a request, and the client's address
authentication  the one way from a request to its caller, for every adapter
accounts        `Accounts`: authenticates callers, signs users in and out
tokens          text of tokens, batched look-ups, last use
users           users, tokens and sessions as values; rules for names and passwords
passwords       Argon2id, in threads of its own
attempts        delays after wrong passwords
revocation      callers that were revoked after their request was admitted
first_run       the administrator of a new installation
operations      operations on users, tokens and sessions
storage         tables of users, tokens and sessions
"""
