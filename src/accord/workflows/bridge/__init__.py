"""The bridge: takes tasks, has agents, tools and methods do them, and tells what came of it."""
