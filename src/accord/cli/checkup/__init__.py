"""What `accord doctor` looks at: one module for each area, none of which changes anything.

Each gives findings, in the order in which they are told; what one finds is nothing to the others.
"""
