"""The methods of the protocol, a module for each feature.

Each module has `methods(core)`, which gives its rows of the table that `Core` serves.
"""
