"""The requirements hub: epics, stories, criteria, requirements and their links.

entities        items and related entities as callers see them
domain          rules, texts and the linter; pure
storage         all SQL of the hub
lifecycle       write items and relationships; bulk: several operations at once, and dry runs
presentation    item rows as entities, and pages of them
undo            revert a change
recorders       record and announce each write, and add hints to it
revision_check  prove rows by replaying all revisions
operations      the operations, each declared once for all adapters; registry: all of them
search_index    words, spelling and the index
search_query    full text search
exchange        import and export
mcp             resources, prompts and completions for assistants
demo_project    the sample project
"""
