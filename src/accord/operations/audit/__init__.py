"""The audit trail: who did what, when and from where, so that nobody can change it unseen.

record   one record
"""
