"""Import and export.

project     what is exchanged, as values: items, relationships, comments, labels, types
json_file, csv_file, markdown_file, reqif_file (with reqif_reading)
            a project as a text of one format, and back; pure
cells       lists and formulas in cells of a table; pure
formats     all formats by name
gathering   a project from the database
placing     a project into the database, row by row (`report` says what became of each)
importing   one import
"""
