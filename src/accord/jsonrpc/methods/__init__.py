"""Methods that can be called by name: how they are declared, described and bound. Pure."""
