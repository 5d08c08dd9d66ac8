-- Tasks may be done by plugins. What is there fits, and need not be read again.
ALTER TABLE tasks DROP CONSTRAINT tasks_kind_check;
ALTER TABLE tasks ADD CONSTRAINT tasks_kind_check
    CHECK (kind IN ('agent', 'operation', 'tool', 'method', 'plugin')) NOT VALID;
