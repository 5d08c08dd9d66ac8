"""Backup and restore of an installation: one file with all that it needs.

archive  the file and its manifest: written completely or not at all, never trusted when read
backup   takes a backup, while the server runs; pg_dump and pg_restore
restore  makes an installation from a backup, in a data directory or a PostgreSQL schema
"""
