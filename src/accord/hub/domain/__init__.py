"""The rules of the hub. Pure: no database, no clock, no operations.

kinds         kinds of items, statuses and priorities; the errors of all rules
traceability  parents, links, cycles, suspect links, impact
text          names, characters, suggestions, sentences of Markdown
lint          the linter; diffs: differences of fields and lines
acceptance    the right to accept one's own proposals
"""
