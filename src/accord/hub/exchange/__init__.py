"""Import and export.

project     the exchanged values: items, relationships, comments, labels, types; JSON; pure
csv_file, markdown_file, reqif_writer, reqif_reader
            write and read one format each; pure
decoding    encodings and archives of imported files; pure
formats     all formats by name
exporter    read a project from the database
matching    match rows with items of the hub, and report on them
importer    write a project into the database, row by row
"""
