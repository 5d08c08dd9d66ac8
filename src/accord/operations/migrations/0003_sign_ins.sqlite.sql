-- Wrong passwords of the last while: how many, and when the last one came, in seconds since 1970. What
-- they were for is hashed, as a mistyped name may be a password.
CREATE TABLE sign_in_failures (
    key text PRIMARY KEY,
    count integer NOT NULL,
    last double precision NOT NULL
);
CREATE INDEX sign_in_failures_by_time ON sign_in_failures (last);
