-- The search index. Texts are folded words, each with a space before and behind it (see
-- accord.hub.search.words); facets stand for what can be filtered by. What was changed last has the
-- greatest sequence. No extension is needed, nor a text search configuration.

CREATE TABLE search_entries (
    sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    entity_id text NOT NULL UNIQUE, -- an item's or a comment's
    item_id text NOT NULL, -- the item's itself, or of what the comment is on
    title text NOT NULL,
    facets text NOT NULL,
    body text NOT NULL,
    terms tsvector NOT NULL -- the words of all three
);
CREATE INDEX search_entries_of ON search_entries (item_id);
CREATE INDEX search_entries_terms ON search_entries USING gin (terms) WITH (fastupdate = off);

-- Planned anew for each query: whether a word is common decides whether to read the newest entries
-- until there are enough, or to ask the index for the few there are. It gives what is needed to rank
-- them, so that nobody joins them with all entries.
CREATE FUNCTION search_newest(query tsquery, newest bigint, most integer)
RETURNS TABLE (sequence bigint, entity_id text, title text, body text)
LANGUAGE plpgsql STABLE ROWS 2000 AS $$
BEGIN
    RETURN QUERY EXECUTE
        'SELECT sequence, entity_id, title, body FROM search_entries
         WHERE terms @@ $1 AND sequence <= $2 ORDER BY sequence DESC LIMIT $3'
        USING query, newest, most;
END
$$;

-- Words that were ever used, and what they become with a letter left out.
CREATE TABLE search_words (word text COLLATE "C" PRIMARY KEY);
CREATE TABLE search_spellings (
    key text COLLATE "C" NOT NULL,
    word text COLLATE "C" NOT NULL,
    PRIMARY KEY (key, word)
);
