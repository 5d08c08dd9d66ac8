"""The audit trail: who did what, when and from where, with detection of tampering.

record      records: fields, targets, authentication codes
storage     SQL of the trail
trail       `AuditTrail`: the trail of a running server; seals and the head file
states      digests of rows without revisions
verify      finds what was changed
operations  operations on the trail, for administrators; its export as JSON lines or CSV
"""
