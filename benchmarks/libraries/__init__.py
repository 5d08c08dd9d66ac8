"""Our own code beside the libraries that do the same, part by part, for the decision records.

`python -m benchmarks.libraries` lists the parts; with the name of one it measures that part.
"""
