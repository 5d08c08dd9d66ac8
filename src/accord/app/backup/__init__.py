"""Backup and restore of an installation: one file with all that it needs.

archive     the file and its manifest: written completely or not at all, never trusted when read
backup      takes one, while the server runs
restore     makes an installation from one
postgres    pg_dump, pg_restore, and the schema that is restored to
"""
