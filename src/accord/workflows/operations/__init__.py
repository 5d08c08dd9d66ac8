"""Operations on agents, workflows and their runs, for every adapter."""
