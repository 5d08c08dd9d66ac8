"""How often somebody may call: a bucket of tokens for each token and each address.

A bucket holds `burst` and is filled with `rate` a second; a call takes what its operation costs.
All that is kept of a bucket is when it will be full again (GCRA), so that one number, changed in
one step, is the whole of it.

bucket             the arithmetic
memory             buckets of one process
shared             buckets in the database, shared by processes
redis              buckets in Redis, or in what speaks as it does
redis_connection   a connection to it
resp               its protocol, as much of it as that needs
"""
