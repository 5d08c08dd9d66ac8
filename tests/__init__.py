"""The tests mirror `src/accord`; what they share lies beside this file."""
