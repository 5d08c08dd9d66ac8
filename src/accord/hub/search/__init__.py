"""Full text search on both databases.

words     texts as words, and the known words that a misspelt word may mean
query     queries in the language of each database, and the entries that match
execute   the best of the newest matches, page by page
index     the index: updated in the transaction of every write, merged in the background
snippets  the part of a text around a match

Words are folded here, not by a database, and the score is one SQL expression
(`accord.hub.storage.search`): both databases find the same entries and rank them alike. Queries
consist of letters and digits only, so user input is never interpreted as query syntax.
"""
