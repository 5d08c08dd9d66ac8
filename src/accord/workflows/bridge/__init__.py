"""The bridge: takes tasks of runs, calls agents, tools and methods, and reports the results."""
