-- Runs that were begun over A2A: the conversation ("context") that each belongs to, and what was
-- said in it. Runs of earlier releases have no rows here: their context is the id of the run.

CREATE TABLE a2a_tasks (
    run_id text PRIMARY KEY,
    user_id text NOT NULL,
    context_id text NOT NULL,
    created_at double precision NOT NULL
);
CREATE INDEX a2a_tasks_of_context ON a2a_tasks (user_id, context_id, created_at);

CREATE TABLE a2a_messages (
    run_id text NOT NULL,
    place integer NOT NULL, -- from 0, in the order in which they were said
    message text NOT NULL, -- JSON: a message of A2A 1.0
    PRIMARY KEY (run_id, place)
);
