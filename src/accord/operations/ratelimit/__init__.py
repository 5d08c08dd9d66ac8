"""Rate limiting: a token bucket for each token and each address.

A bucket holds `burst` and is filled with `rate` a second; a call takes the cost of its operation.
The only stored value of a bucket is the time at which it will be full (GCRA), which is changed
atomically.

bucket  the arithmetic, buckets in memory and in the database, metrics
redis   buckets in Redis or a compatible server
"""
