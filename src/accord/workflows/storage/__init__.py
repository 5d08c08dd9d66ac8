"""The tables of workflows: all SQL of workflows, and rows as values.

Other packages decide what the values mean.
"""
