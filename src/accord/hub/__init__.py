"""The requirements hub: epics, stories, criteria, requirements and their links.

entities        items and related entities as structs that callers get
domain          rules, texts and the linter, without database and clock
storage         all SQL of the hub
lifecycle       write items and relationships; bulk: several operations in one call, and dry runs
presentation    convert rows of items to entities, and to pages of entities
undo            revert a change
recorders       record and announce each write, and add hints to it
revision_check  prove rows by replaying all revisions
operations      a function for each call that the adapters offer; registry: all of these functions
search_index    words, spelling and the index
search_query    full text search
exchange        import and export
mcp             resources, prompts and completions for assistants
demo_project    the sample project
"""
