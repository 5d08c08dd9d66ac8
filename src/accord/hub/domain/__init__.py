"""The rules of the hub. Pure: no database, no clock, no operations.

rules  kinds of items, statuses, priorities, parents, links, impact, acceptance of proposals
text   names, characters, suggestions, sentences of Markdown, differences
lint   the linter
"""
