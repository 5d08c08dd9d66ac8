"""A sample project: a ferry line that sells, boards and reports.

project.md   its items, as an import reads them
people       who works on it
remarks      what they say to each other
loading      puts it into the hub
"""
