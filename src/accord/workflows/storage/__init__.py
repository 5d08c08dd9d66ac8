"""The tables of workflows: all SQL of workflows, and rows as structs.

Other packages define what the stored values mean.
"""
