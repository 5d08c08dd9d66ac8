"""The audit trail: who did what, when and from where, so that nobody can change it unseen.

record      one record
chain       what makes records, seals and heads genuine
storage     SQL of all of it
sealer      numbers and chains records
head_file   the head, kept beside the database
trail       `AuditTrail`: the trail of a running server
verify      finds what was changed
export      all of it, as JSON lines or CSV
operations  what administrators can ask of it
"""
