"""The requirements hub: epics, stories, acceptance criteria, requirements, and how they relate.

domain      what things are and which rules hold; pure
storage     statements: how they are kept
operations  what can be done with them, each written once
search      full text, on both databases
exchange    import and export
mcp         resources, prompts and completions for assistants
"""
