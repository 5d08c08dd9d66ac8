"""Backups of an installation: one file with all that it needs to be somewhere else, or again.

errors            what can go wrong
manifest          what is in a backup, and how that is known to be all of it
archive           the file: written whole or not at all, read without believing anything
facts             what a database says about itself
postgres_programs pg_dump and pg_restore
backup            takes one, while the server runs
data_directory    where the files of a backup go, and what was there before
restore           makes an installation of one
"""
