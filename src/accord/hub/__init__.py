"""The requirements hub: epics, stories, acceptance criteria, requirements, and how they relate.

entities    what operations give, as callers see it
domain      what things are and which rules hold; pure
storage     statements: how they are kept
lifecycle   items come and change; deletion: they go; places: they move; links: they relate
recorder    keeps every change; undo takes one back; steps and trial do, or only try, several
operations  what can be done with them, each written once
search      full text, on both databases
exchange    import and export
mcp         resources, prompts and completions for assistants
"""
