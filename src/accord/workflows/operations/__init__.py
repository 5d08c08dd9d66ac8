"""What can be done with agents, workflows and their runs, on every face."""
