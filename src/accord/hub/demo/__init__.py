"""The sample project: a ferry line that sells, boards and reports.

`project.md` has its items in the Markdown format of the importer; `loading` adds the people and
their comments and loads all of it into the hub.
"""
