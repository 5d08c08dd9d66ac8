"""The requirements hub: epics, stories, criteria, requirements and their links.

entities      items and related entities as callers see them
domain        kinds, rules, diffs, linter and impact; pure
storage       all SQL of the hub
lifecycle     create, update, move and delete items; links: the same for relationships
presentation  item rows as entities, and pages of them
hints         hints after a write; bulk: several operations at once, and dry runs
undo          revert a change; recorder: record and announce each change
revision_check
              prove rows by replaying all revisions
operations    the operations, each declared once for all adapters
search        full text search: words, queries, the index and snippets
exchange      import and export
mcp           resources, prompts and completions for assistants
demo          the sample project
"""
