"""Full text search, on both databases.

words       texts as words: what is the same word, whatever its letter case and accents
spelling    which words may have been meant by one that is misspelt
matching    what is asked for, as a query of each database
asking      how the index is asked for it
index       keeps the index, in the transaction of every change
upkeep      keeps it in few pieces
finding     the best of the newest matches, page by page
snippets    where a text says what was asked for

Words are folded here, not by a database, and the score is one SQL expression: both databases find
the same and rank it alike. No word of a query can be anything but a word: letters and digits only.
"""
