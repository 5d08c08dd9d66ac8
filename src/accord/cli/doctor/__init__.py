"""`accord doctor`: checks of everything that an installation needs.

A check yields findings in the order of output, changes nothing, and does not depend on others.
"""
