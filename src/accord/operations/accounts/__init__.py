"""Who calls: people, their tokens and their login sessions.

server_key     what everything secret is derived from
token_text     what tokens look like, and which texts cannot be one
passwords      Argon2id, in threads of its own
names          what people may be called
credentials    what a request presents, and where it came from
addresses      where a request comes from, also behind a proxy
attempts       how fast somebody may guess passwords
storage        rows of users, tokens and login sessions, and their SQL
last_used      when tokens and sessions were used last, written in batches
first_run      the administrator of a new installation
accounts       `Accounts`: tells who calls, lets people sign in and out
authentication the one way from a request to its caller, for every adapter
operations     what can be done with accounts, on every face
"""
