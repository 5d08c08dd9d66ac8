"""The bridge: takes tasks, calls agents, tools and methods, and reports the results."""
