-- Where imported items came from, and the id by which exports name this hub as their source.

CREATE TABLE item_sources (
    item_id text PRIMARY KEY REFERENCES items (id),
    source text NOT NULL, -- a repository, a specification, another hub, or what the caller named
    foreign_id text NOT NULL, -- what the source calls the item
    created_at text NOT NULL,
    UNIQUE (source, foreign_id)
);

CREATE TABLE installation (
    id text PRIMARY KEY
);
INSERT INTO installation (id) VALUES (lower(hex(randomblob(16))));
