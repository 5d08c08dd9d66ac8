"""The operations of the hub, each declared once for all adapters.

They know neither protocols nor SQL.
"""
