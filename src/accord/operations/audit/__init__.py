"""The audit trail: who did what, when and from where, with detection of tampering.

record      records: fields, targets, message authentication codes (MACs)
storage     SQL of the trail
trail       `AuditTrail`: the trail of a running server
states      digests of the rows of entities that have no revisions, such as users
verify      finds changes that no operation made
operations  operations on the trail, for administrators; its export as JSON lines or CSV

A record is sealed soon after it is written: the seal numbers it and contains a hash of the previous
record's seal. The newest seal is the head of the chain.
"""
