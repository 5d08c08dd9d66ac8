"""OpenRPC: methods described, explored, and called by generated clients."""
