-- The search index. Texts are folded words, each with a space before and behind it (see
-- accord.hub.search.words); facets stand for what can be filtered by. What was changed last has the
-- greatest sequence.

CREATE TABLE search_entries (
    sequence integer PRIMARY KEY AUTOINCREMENT,
    entity_id text NOT NULL UNIQUE, -- an item's or a comment's
    item_id text NOT NULL, -- the item's itself, or of what the comment is on
    title text NOT NULL,
    facets text NOT NULL,
    body text NOT NULL
);
CREATE INDEX search_entries_of ON search_entries (item_id);

CREATE VIRTUAL TABLE search_texts USING fts5 (
    title, body, facets,
    content = 'search_entries', content_rowid = 'sequence',
    tokenize = "ascii tokenchars '='", -- splits at spaces only: words are made before
    prefix = '2 3',
    detail = 'column' -- which words are where does not matter, only in which column
);
CREATE VIRTUAL TABLE search_vocabulary USING fts5vocab (search_texts, 'instance');
CREATE TRIGGER search_texts_added AFTER INSERT ON search_entries BEGIN
    INSERT INTO search_texts (rowid, title, body, facets)
    VALUES (new.sequence, new.title, new.body, new.facets);
END;
CREATE TRIGGER search_texts_removed AFTER DELETE ON search_entries BEGIN
    INSERT INTO search_texts (search_texts, rowid, title, body, facets)
    VALUES ('delete', old.sequence, old.title, old.body, old.facets);
END;

-- Words that were ever used, and what they become with a letter left out.
CREATE TABLE search_words (word text PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE search_spellings (
    key text NOT NULL,
    word text NOT NULL,
    PRIMARY KEY (key, word)
) WITHOUT ROWID;
