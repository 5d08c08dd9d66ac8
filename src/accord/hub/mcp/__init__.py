"""What assistants find beside the tools: resources, prompts, completions, changes."""
