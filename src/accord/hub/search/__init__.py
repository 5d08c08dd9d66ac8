"""Full text search on both databases.

words       texts as words: letter case and accents are folded
spelling    the known words that a misspelt word may mean
matching    queries in the language of each database
asking      queries of the index, in an order that is fast on SQLite
index       the index, updated in the transaction of every write
upkeep      merges of index segments
finding     the best of the newest matches, page by page
snippets    the part of a text around a match

Words are folded here, not by a database, and the score is one SQL expression
(`accord.hub.storage.search`): both databases find the same entries and rank them alike. Queries
consist of letters and digits only, so user input is never interpreted as query syntax.
"""
