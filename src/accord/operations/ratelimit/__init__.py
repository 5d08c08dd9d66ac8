"""Rate limiting: a token bucket for each token and each address.

A bucket holds `burst` and is filled with `rate` a second; a call takes the cost of its operation.
All that is stored of a bucket is the time at which it will be full (GCRA), one number that is
changed in one step.

bucket  the arithmetic, buckets in memory and in the database, metrics
redis   buckets in Redis or a compatible server
"""
