SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE FUNCTION public.accord_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is append-only';
END
$$;

CREATE FUNCTION public.accord_audit_pending() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO audit_pending (record_id) VALUES (NEW.id);
    RETURN NULL;
END
$$;

CREATE FUNCTION public.accord_baseline_kept() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'a baseline never changes';
END
$$;

CREATE FUNCTION public.search_newest(query tsquery, newest bigint, most integer) RETURNS TABLE(sequence bigint, entity_id text, title text, body text)
    LANGUAGE plpgsql STABLE ROWS 2000
    AS $_$
BEGIN
    RETURN QUERY EXECUTE
        'SELECT sequence, entity_id, title, body FROM search_entries
         WHERE terms @@ $1 AND sequence <= $2 ORDER BY sequence DESC LIMIT $3'
        USING query, newest, most;
END
$_$;

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE public.accord_migrations (
    part text NOT NULL,
    number integer NOT NULL,
    name text NOT NULL
);

CREATE TABLE public.agents (
    id text NOT NULL,
    name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    url text NOT NULL,
    wire text NOT NULL,
    auth text DEFAULT '{}'::text NOT NULL,
    timeout double precision DEFAULT 30 NOT NULL,
    retry text DEFAULT '{}'::text NOT NULL,
    max_concurrency integer DEFAULT 64 NOT NULL,
    active integer DEFAULT 1 NOT NULL,
    card text,
    health text DEFAULT 'unknown'::text NOT NULL,
    health_detail text DEFAULT ''::text NOT NULL,
    checked_at text,
    version integer DEFAULT 1 NOT NULL,
    created_at text NOT NULL,
    updated_at text NOT NULL,
    CONSTRAINT agents_health_check CHECK ((health = ANY (ARRAY['unknown'::text, 'healthy'::text, 'unhealthy'::text]))),
    CONSTRAINT agents_wire_check CHECK ((wire = ANY (ARRAY['auto'::text, 'a2a-0.3'::text, 'a2a-1.0'::text, 'plain'::text])))
);

CREATE TABLE public.approvals (
    run_id text NOT NULL,
    task text NOT NULL,
    step text NOT NULL,
    approvers text NOT NULL,
    deadline double precision,
    state text DEFAULT 'open'::text NOT NULL,
    created_at double precision NOT NULL,
    CONSTRAINT approvals_state_check CHECK ((state = ANY (ARRAY['open'::text, 'closed'::text])))
);

CREATE TABLE public.audit_pending (
    record_id text NOT NULL
);

CREATE TABLE public.audit_records (
    id text NOT NULL,
    "time" text NOT NULL,
    actor_id text NOT NULL,
    actor text NOT NULL,
    via text NOT NULL,
    face text NOT NULL,
    token_id text NOT NULL,
    client text NOT NULL,
    address text NOT NULL,
    operation text NOT NULL,
    target text NOT NULL,
    change_id text NOT NULL,
    before_hash text NOT NULL,
    after_hash text NOT NULL,
    outcome text NOT NULL,
    error text NOT NULL,
    correlation_id text NOT NULL,
    mac text NOT NULL
);

CREATE TABLE public.audit_seals (
    sequence bigint NOT NULL,
    record_id text NOT NULL,
    previous_hash text NOT NULL,
    hash text NOT NULL
);

CREATE TABLE public.baseline_entries (
    baseline_id text NOT NULL,
    place bigint NOT NULL,
    entity_id text NOT NULL,
    kind text NOT NULL,
    reference_id text NOT NULL,
    version integer NOT NULL,
    content text NOT NULL
);

CREATE TABLE public.baselines (
    id text NOT NULL,
    name text NOT NULL,
    name_key text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    author_id text NOT NULL,
    epic_id text,
    created_at text NOT NULL
);

CREATE TABLE public.changes (
    id text NOT NULL,
    sequence bigint NOT NULL,
    "time" text NOT NULL,
    actor_id text NOT NULL,
    actor text NOT NULL,
    operation text NOT NULL,
    face text NOT NULL,
    client text NOT NULL,
    token_id text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    undoes text,
    proposal_id text
);

CREATE TABLE public.comments (
    id text NOT NULL,
    target_id text NOT NULL,
    reply_to text,
    author_id text NOT NULL,
    text text NOT NULL,
    quote text DEFAULT ''::text NOT NULL,
    quote_position integer,
    resolved integer DEFAULT 0 NOT NULL,
    resolved_by text,
    version integer DEFAULT 1 NOT NULL,
    created_at text NOT NULL,
    updated_at text NOT NULL
);

CREATE TABLE public.counters (
    kind text NOT NULL,
    last bigint NOT NULL
);

CREATE TABLE public.dead_letters (
    id text NOT NULL,
    kind text NOT NULL,
    topic text DEFAULT ''::text NOT NULL,
    run_id text DEFAULT ''::text NOT NULL,
    task text DEFAULT ''::text NOT NULL,
    target text DEFAULT ''::text NOT NULL,
    code text NOT NULL,
    message text NOT NULL,
    body text DEFAULT ''::text NOT NULL,
    attempts integer DEFAULT 1 NOT NULL,
    created_at double precision NOT NULL,
    replayed_at double precision,
    replayed_by text DEFAULT ''::text NOT NULL,
    CONSTRAINT dead_letters_kind_check CHECK ((kind = ANY (ARRAY['task'::text, 'message'::text])))
);

CREATE TABLE public.idempotency (
    user_id text NOT NULL,
    key text NOT NULL,
    request_hash text NOT NULL,
    change_id text NOT NULL,
    result text NOT NULL,
    created_at text NOT NULL
);

CREATE TABLE public.item_labels (
    item_id text NOT NULL,
    label_id text NOT NULL
);

CREATE TABLE public.items (
    id text NOT NULL,
    kind text NOT NULL,
    number bigint NOT NULL,
    reference_id text NOT NULL,
    parent_id text,
    criteria_id text,
    "position" double precision DEFAULT 0 NOT NULL,
    title text DEFAULT ''::text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    status text DEFAULT ''::text NOT NULL,
    priority integer DEFAULT 0 NOT NULL,
    type text,
    creator_id text NOT NULL,
    assignee_id text,
    name text,
    content text DEFAULT ''::text NOT NULL,
    role text DEFAULT ''::text NOT NULL,
    active integer DEFAULT 0 NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    said_version integer DEFAULT 1 NOT NULL,
    created_at text NOT NULL,
    updated_at text NOT NULL
);

CREATE TABLE public.labels (
    id text NOT NULL,
    name text NOT NULL,
    name_key text NOT NULL,
    colour text NOT NULL,
    created_at text NOT NULL
);

CREATE TABLE public.leases (
    name text NOT NULL,
    owner text NOT NULL,
    until double precision NOT NULL
);

CREATE TABLE public.lint_suppressions (
    item_id text NOT NULL,
    rule text NOT NULL,
    reason text NOT NULL,
    author_id text NOT NULL,
    created_at text NOT NULL
);

CREATE TABLE public.login_sessions (
    hash text NOT NULL,
    user_id text NOT NULL,
    client text DEFAULT ''::text NOT NULL,
    address text DEFAULT ''::text NOT NULL,
    created_at text NOT NULL,
    seen_at text NOT NULL,
    expires_at text NOT NULL
);

CREATE TABLE public.members (
    id text NOT NULL,
    kind text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    since double precision NOT NULL,
    until double precision NOT NULL,
    CONSTRAINT members_kind_check CHECK ((kind = ANY (ARRAY['executor'::text, 'bridge'::text])))
);

CREATE TABLE public.outbox (
    id bigint NOT NULL,
    topic text NOT NULL,
    run_id text NOT NULL,
    message_id text NOT NULL,
    message text NOT NULL,
    published_at double precision,
    swept integer DEFAULT 0 NOT NULL
);

ALTER TABLE public.outbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.proposals (
    id text NOT NULL,
    author_id text NOT NULL,
    reason text NOT NULL,
    steps text NOT NULL,
    preview text NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    decided_by text,
    decided_at text,
    decision_reason text DEFAULT ''::text NOT NULL,
    created_at text NOT NULL
);

CREATE UNLOGGED TABLE public.rate_buckets (
    key text NOT NULL,
    full_at double precision NOT NULL
);

CREATE TABLE public.relationship_types (
    name text NOT NULL,
    inverse text NOT NULL,
    is_symmetric integer NOT NULL,
    is_acyclic integer NOT NULL
);

CREATE TABLE public.relationships (
    id text NOT NULL,
    source_id text NOT NULL,
    target_id text NOT NULL,
    type text NOT NULL,
    creator_id text NOT NULL,
    created_at text NOT NULL,
    source_version integer NOT NULL,
    target_version integer NOT NULL,
    confirmed_by text,
    confirmed_at text,
    confirmed_reason text DEFAULT ''::text NOT NULL
);

CREATE TABLE public.requirement_types (
    name text NOT NULL,
    name_key text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    created_at text NOT NULL
);

CREATE TABLE public.revisions (
    change_id text NOT NULL,
    place integer NOT NULL,
    entity_id text NOT NULL,
    kind text NOT NULL,
    reference_id text NOT NULL,
    version integer NOT NULL,
    action text NOT NULL,
    before text,
    after text
);

CREATE TABLE public.run_history (
    run_id text NOT NULL,
    sequence integer NOT NULL,
    count integer NOT NULL,
    events text NOT NULL
);

CREATE TABLE public.run_inbox (
    id bigint NOT NULL,
    message_id text NOT NULL,
    run_id text NOT NULL,
    shard integer NOT NULL,
    arrival text NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    due double precision DEFAULT 0 NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='1000', autovacuum_analyze_scale_factor='0.02', autovacuum_analyze_threshold='500');

ALTER TABLE public.run_inbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.run_inbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.runs (
    id text NOT NULL,
    workflow text NOT NULL,
    version integer NOT NULL,
    shard integer NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    user_id text DEFAULT ''::text NOT NULL,
    username text DEFAULT ''::text NOT NULL,
    token_id text DEFAULT ''::text NOT NULL,
    scopes text,
    origin text DEFAULT ''::text NOT NULL,
    parent_run text,
    parent_task text,
    cause text DEFAULT ''::text NOT NULL,
    chain integer DEFAULT 0 NOT NULL,
    correlation_id text DEFAULT ''::text NOT NULL,
    traceparent text DEFAULT ''::text NOT NULL,
    snapshot text,
    snapshot_at integer DEFAULT 0 NOT NULL,
    next_timer double precision,
    created_at double precision NOT NULL,
    finished_at double precision
);

CREATE TABLE public.saved_views (
    id text NOT NULL,
    owner_id text NOT NULL,
    name text NOT NULL,
    filter text NOT NULL,
    sort text DEFAULT ''::text NOT NULL,
    shared integer DEFAULT 0 NOT NULL,
    created_at text NOT NULL,
    updated_at text NOT NULL
);

CREATE TABLE public.search_entries (
    sequence bigint NOT NULL,
    entity_id text NOT NULL,
    item_id text NOT NULL,
    title text NOT NULL,
    facets text NOT NULL,
    body text NOT NULL,
    terms tsvector NOT NULL
);

ALTER TABLE public.search_entries ALTER COLUMN sequence ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.search_entries_sequence_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.search_spellings (
    key text NOT NULL COLLATE pg_catalog."C",
    word text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE public.search_words (
    word text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE public.settings (
    name text NOT NULL,
    value text NOT NULL
);

CREATE TABLE public.shards (
    shard integer NOT NULL,
    owner text,
    fence integer DEFAULT 0 NOT NULL
);

CREATE TABLE public.steering_links (
    steering_id text NOT NULL,
    epic_id text NOT NULL
);

CREATE TABLE public.tasks (
    id text NOT NULL,
    run_id text NOT NULL,
    task text NOT NULL,
    kind text NOT NULL,
    target text NOT NULL,
    command text NOT NULL,
    state text NOT NULL,
    cancelled integer DEFAULT 0 NOT NULL,
    owner text,
    fence integer DEFAULT 0 NOT NULL,
    attempt integer DEFAULT 1 NOT NULL,
    attempt_group integer DEFAULT 1 NOT NULL,
    due double precision DEFAULT 0 NOT NULL,
    remote_task text DEFAULT ''::text NOT NULL,
    remote_context text DEFAULT ''::text NOT NULL,
    continuation text,
    continued integer DEFAULT 0 NOT NULL,
    outcome text,
    traceparent text DEFAULT ''::text NOT NULL,
    correlation_id text DEFAULT ''::text NOT NULL,
    created_at double precision NOT NULL,
    finished_at double precision,
    CONSTRAINT tasks_kind_check CHECK ((kind = ANY (ARRAY['agent'::text, 'operation'::text, 'tool'::text, 'method'::text]))),
    CONSTRAINT tasks_state_check CHECK ((state = ANY (ARRAY['published'::text, 'ready'::text, 'running'::text, 'asking'::text, 'done'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='1000', autovacuum_analyze_scale_factor='0.02', autovacuum_analyze_threshold='500');

CREATE TABLE public.tokens (
    id text NOT NULL,
    user_id text NOT NULL,
    name text NOT NULL,
    prefix text NOT NULL,
    last_four text NOT NULL,
    hash text NOT NULL,
    scopes text NOT NULL,
    created_at text NOT NULL,
    expires_at text NOT NULL,
    last_used_at text,
    revoked_at text
);

CREATE TABLE public.triggers (
    id text NOT NULL,
    workflow text NOT NULL,
    version integer NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    spec text NOT NULL,
    input text NOT NULL,
    user_id text NOT NULL,
    username text NOT NULL,
    scopes text,
    next_at double precision,
    CONSTRAINT triggers_kind_check CHECK ((kind = ANY (ARRAY['event'::text, 'schedule'::text, 'webhook'::text])))
);

CREATE TABLE public.users (
    id text NOT NULL,
    username text NOT NULL,
    username_key text NOT NULL,
    email text DEFAULT ''::text NOT NULL,
    role text NOT NULL,
    password_hash text DEFAULT ''::text NOT NULL,
    temporary_password integer DEFAULT 0 NOT NULL,
    active integer DEFAULT 1 NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at text NOT NULL,
    updated_at text NOT NULL,
    CONSTRAINT users_role_check CHECK ((role = ANY (ARRAY['Administrator'::text, 'User'::text, 'Commenter'::text])))
);

CREATE TABLE public.webhook_deliveries (
    trigger_id text NOT NULL,
    key text NOT NULL,
    run_id text NOT NULL,
    created_at double precision NOT NULL
);

CREATE TABLE public.workflows (
    name text NOT NULL,
    version integer NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    definition text NOT NULL,
    active integer DEFAULT 1 NOT NULL,
    created_by text NOT NULL,
    created_at text NOT NULL
);

INSERT INTO public.accord_migrations VALUES ('operations', 1, 'operations');
INSERT INTO public.accord_migrations VALUES ('operations', 2, 'guards');
INSERT INTO public.accord_migrations VALUES ('hub', 1, 'hub');
INSERT INTO public.accord_migrations VALUES ('hub', 2, 'search');
INSERT INTO public.accord_migrations VALUES ('hub', 3, 'baselines');
INSERT INTO public.accord_migrations VALUES ('workflows', 1, 'workflows');
INSERT INTO public.accord_migrations VALUES ('workflows', 2, 'queues');
INSERT INTO public.accord_migrations VALUES ('workflows', 3, 'triggers');

INSERT INTO public.agents VALUES ('01a1e20e-c86f-7881-833f-cd4bbef4342a', 'reviewer', '', 'https://agents.invalid/', 'auto', '{"type":"none"}', 30, '{"attempts":3,"initial_delay":1.0,"multiplier":2.0,"max_delay":30.0,"jitter":true,"failures":"unknown"}', 64, 1, NULL, 'unknown', '', NULL, 1, '2026-11-16T01:53:02.057886Z', '2026-11-16T01:53:02.057886Z');

INSERT INTO public.approvals VALUES ('01a1e20e-cb77-751d-b4d7-f6183988bb54', 'ok', 'ok', '["admin"]', NULL, 'open', 1794793982.9003973);

INSERT INTO public.audit_records VALUES ('01a1e20e-ac05-760a-bf60-16a09fecc9cd', '2026-11-16T01:52:54.789388Z', '', 'accord', 'system', 'system', '', '', '', 'first_run', 'admin', '', '', '', 'done', '', '', 'df8dda3d71e2ec7374a0b8215ff131e588af876947ad25e230056761841e8fac');
INSERT INTO public.audit_records VALUES ('01a1e20e-be7e-7b31-a2f1-972534716130', '2026-11-16T01:52:59.518720Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_epic', 'EP-001', '01a1e20e-be28-7b32-86de-d570a727d616', '', 'c842b67e80d115cbcebfb0f0d7780ba545ed353a5c64cc86667a003149909ef7', 'done', '', 'dd2e7c4eb29d47d7c435f117d269b965', '7a4f135689ea980bc3cb0fbea979c71b55b537105187721483dafdd7fd722e48');
INSERT INTO public.audit_records VALUES ('01a1e20e-bf50-70fc-b7f2-ebb72d39026d', '2026-11-16T01:52:59.728076Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_user_story', 'US-001', '01a1e20e-bf2d-7090-933d-657fa7c8abf4', '', '389166536272ec206622c2fd0a42503ef21a0203eb5509a91c1ac849614cf53a', 'done', '', 'b67d4c044d1df951bb96d90ca3ae9790', '0ad0c26cb2c045afdd0e609f8c70a1fae8b5593c6f58489256334fb4b682c471');
INSERT INTO public.audit_records VALUES ('01a1e20e-c019-71ed-a465-2c1f8fd5a607', '2026-11-16T01:52:59.929134Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_acceptance_criteria', 'AC-001', '01a1e20e-bffc-757f-b745-48339c450e97', '', '6803a34ea94d66860122b4f94c4ff2129b936e0a85b78574bfd624d01ffdff18', 'done', '', 'c4886c8a7ed255583fb4dba822409318', 'a2cb5db6b93ce80b4f892de4df4605476c7172bdc24457e5b78ef35b8c846b79');
INSERT INTO public.audit_records VALUES ('01a1e20e-c0d7-7a2e-9779-bf6d562100b4', '2026-11-16T01:53:00.119653Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_requirement', 'REQ-001', '01a1e20e-c0c0-70ee-abbd-576fa3dcf697', '', '6348a0f49daef83083c835003983c289484d4a082348c346fc49eb7f77b1209b', 'done', '', '8b1e0a1f57c63ee39bbd0d545dbe19aa', '08bd60d5003fc5fbb974da93def9ddc24d7f5fc2af251e621b15029505f53ce3');
INSERT INTO public.audit_records VALUES ('01a1e20e-c15d-7090-bebb-9660aa46ed53', '2026-11-16T01:53:00.253048Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_requirement', 'REQ-002', '01a1e20e-c147-7ecf-bb22-5f1688f18f6e', '', '5c34f164a44c025ea6043ac48d4ffd0b93d1faac0974ea648a9dc6ea672db466', 'done', '', '1775b8b35fc6d584e9ec9b49f13b75d7', '7ea643d8d83890cf4d16822cdfce5596189dd62ee93dbf10dc01df4393ec0a85');
INSERT INTO public.audit_records VALUES ('01a1e20e-c23f-778a-9bb8-813846c5b5be', '2026-11-16T01:53:00.479486Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_relationship', 'REQ-001 blocks REQ-002', '01a1e20e-c233-782f-b7a7-b7ae5978db83', '', '0041f3165783e4d037f84aa433cae953f9d4230d8ea8956ae1e9efa28dd18116', 'done', '', 'ed21b68a21b84eebe24123a94137f7cd', 'fcad9fb3a79b34dc72e3d3e37b9225dfce37c445cdc5d0e6178fbf7a2de0b33a');
INSERT INTO public.audit_records VALUES ('01a1e20e-c31b-7663-ad3c-91790344745c', '2026-11-16T01:53:00.699417Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_label', 'payments', '01a1e20e-c305-75e5-a60e-60458d5b1117', '', 'f5a4b5a6cf266bfc3d8bafd7288f7179a82b9a1afdd29264b1323b8007bd6fb2', 'done', '', 'd719437930883e2ae90560da3207947e', 'e4c37afc77d4348b8a31b0c39111b6798bb6b701764a9232f89f356cc97c4bf5');
INSERT INTO public.audit_records VALUES ('01a1e20e-c3d9-747e-ae9f-5045f1406133', '2026-11-16T01:53:00.889298Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'label_item', 'REQ-001 payments', '01a1e20e-c391-743a-97cf-686008d4b115', '', '19b14b51901aacd8782076ea18b6a2691b12fcde950419f756328fc647ac884a', 'done', '', '8f8ffe0f52b0e0053ddff66b1901f31b', '9f81d75817fae28230d299c770348ecda186ccf24d6b70a9251076a028928417');
INSERT INTO public.audit_records VALUES ('01a1e20e-c469-79b7-9f74-de94e70e8066', '2026-11-16T01:53:01.033621Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'add_comment', 'REQ-001', '01a1e20e-c452-7007-8257-b74c93a3036f', '', 'a0f4e6372fa5a60f014ea4ce78d69a8d97e29801c8d07cc753b07b99e5b2a049', 'done', '', '8a67861f66b5f5aed09486f05b0706f0', '632e82108c2f7c02c0b662823e707bfb5fe7150e61e3208a7c855d59242fac72');
INSERT INTO public.audit_records VALUES ('01a1e20e-c52c-74ce-b610-e2f3d791244e', '2026-11-16T01:53:01.228315Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_steering_document', 'STD-001', '01a1e20e-c518-7238-a66a-1695ca43fc0a', '', 'e380c69c459271a495ef82c83fb90537e1b09b29645af61a46b1cf1ea13cc5f2', 'done', '', 'd08f6fd81b1a3e2f1200365fefbbe2a3', 'e7cc2a6141ea1405a4367c9919081c65c86b008aec136f3f27086007ef007dd9');
INSERT INTO public.audit_records VALUES ('01a1e20e-c59e-7fb4-b6bc-1eb169310985', '2026-11-16T01:53:01.342996Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_view', 'Mine', '01a1e20e-c598-7210-8288-7fb6936dd26a', '', '31ca7d55aa6dd08c5afa4f5db9a4c1a89bd0566b6e256f63676c1a185f22d927', 'done', '', '962436483133d8f1bb74cb98a43b2ee1', 'bc0fa5bc5e90b6c70069c5a6d06b008842b2ce4a375d47602e665aa3e2d0ea0e');
INSERT INTO public.audit_records VALUES ('01a1e20e-c6ba-7fd0-91f2-30cfab5346d4', '2026-11-16T01:53:01.627002Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_baseline', 'First review', '01a1e20e-c6a9-7239-8a99-200a72bdd503', '', '10151d61c97c501c9729ade62a1d80a5cafcde1101558a3ad45af0f6658ec7f3', 'done', '', '2f5c8edb1e688a9fca58a5a22f9c87bd', '362067652ecd09b3f588dc3bdb280f7d19c8950ad6a6873c2ddb6e53e131473d');
INSERT INTO public.audit_records VALUES ('01a1e20e-c72d-71df-8b13-fcbd7b0fc3b7', '2026-11-16T01:53:01.741164Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'propose_changes', '01a1e20e-c70c-7f68-ae19-8c9b1082eb43', '01a1e20e-c717-7916-892e-fe1d27d6016c', '', 'ec9dfca7e6fec5ca82c2d8c22b31d4f26c6d2c13cde4138009951b78170c6ef9', 'done', '', '2dfca38d45f10e419df83446068fb113', '97239850723e6131754f24b2b54216167397a8a7af5c7dc2014618259c2defda');
INSERT INTO public.audit_records VALUES ('01a1e20e-c79d-7bd4-8f02-9150bbaaa3b7', '2026-11-16T01:53:01.853755Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'update_requirement', 'REQ-001', '01a1e20e-c77f-7704-9a3d-5f83204c946b', '6348a0f49daef83083c835003983c289484d4a082348c346fc49eb7f77b1209b', '1d04075048fb58f638c8f76308ade99b57a61124a12af4c8d49b2c3247ae36a7', 'done', '', '436006e0b6f8520eb3cd00f5255c94ce', 'efd886eeb9a132348ab541691637a89a0c6e19e5c06715a1531febd499e1a0e0');
INSERT INTO public.audit_records VALUES ('01a1e20e-c7e1-7be8-82a6-b226a51c5ef8', '2026-11-16T01:53:01.921756Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_epic', 'EP-002', '01a1e20e-c7d7-7722-a9f2-ccd46bd7e795', '', 'be2e5463c770b4918e8ebc2ce0c72b77244f2b32c7225aa2a6aae14aa3d4bc61', 'done', '', 'c0b3704d9670cede2a792be1303beb47', '8fc4290c84283e528c4775bfeb66db9f07d06ff131dff6473e1a394639dd55ff');
INSERT INTO public.audit_records VALUES ('01a1e20e-c848-7077-b909-517875cbcbf5', '2026-11-16T01:53:02.024043Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'delete_epic', 'EP-002', '01a1e20e-c83a-7660-9d73-fd282c1ab18a', 'be2e5463c770b4918e8ebc2ce0c72b77244f2b32c7225aa2a6aae14aa3d4bc61', '', 'done', '', '491b955035e69ff7672aa8a3f06857d1', 'dfbe3b273be4533dfbd4afb8f056378f992b95cb109e7f1df51bd9132b4e914b');
INSERT INTO public.audit_records VALUES ('01a1e20e-c878-793d-96bc-a5d00172d65c', '2026-11-16T01:53:02.072582Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_agent', 'reviewer', '01a1e20e-c878-779b-8e6c-c0667fdc30c0', '', 'a2538098b6d263e774c8114b960ef7be1ed3e47ba55e85b1fede4ae46c7fac5f', 'done', '', '2d026369e0d8ea2f522ef9ecef10c01b', 'f9c0f983e584702b1209cf8544dbbd13e84bd3c9a285a9c0809233a09e9e4617');
INSERT INTO public.audit_records VALUES ('01a1e20e-c908-7083-a510-356e4d126cfa', '2026-11-16T01:53:02.216036Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_workflow', 'note@1', '01a1e20e-c907-7f44-b820-bc163ea28d18', '', '63158fac132efa8ee477227ad51a2f7c90003d3d46b4c6d7aebd808e5ddd68a7', 'done', '', '63640b742cae8fa24ec58971d44a92e9', '3621a40516fe6f47a7e0d3e45708f34a1aa5702e03f3456010739e08a093ed8a');
INSERT INTO public.audit_records VALUES ('01a1e20e-c943-70d9-be83-eda7b71b834e', '2026-11-16T01:53:02.275057Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_workflow', 'nap@1', '01a1e20e-c942-7f9c-bb3d-5b947001c508', '', '450889bfd64313aa7704a81a0aca3da836560991c0070b34d59e923917d3a9fd', 'done', '', '65553114cac0a91961a5b1cb83730418', '1bffa236b2ac49641432ebe75555cf06525bf791886e03de6f7b5421af7b9f1c');
INSERT INTO public.audit_records VALUES ('01a1e20e-c969-76d3-b87b-9d76e34ab6ed', '2026-11-16T01:53:02.313431Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'create_workflow', 'decide@1', '01a1e20e-c969-755b-8af8-ab5c3d8708bf', '', 'd7ddbe26d56e8b253dbd6f9e64d43bea80292ce577488fed6f08fc95c1169d33', 'done', '', 'd5ddc9e4ecab6eeacdedd8c9247dd08a', 'b09e56b902b1f42d6f00a984fc74c80c240a8d3d278a7923cd92ffd760b122ad');
INSERT INTO public.audit_records VALUES ('01a1e20e-c997-74e3-997e-20d915e377dd', '2026-11-16T01:53:02.359309Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'run_workflow', '01a1e20e-c980-7c21-bf1f-8e6a288e82e0', '01a1e20e-c997-73d3-9aba-32ad0c8cff3f', '', 'd79a68744a5c47ea62949229e5b9cc2be2f458f41d3ccc2e2e3dfe1d1c6a4d2d', 'done', '', 'a4d0a973a492e1fdffa837dba72600c4', '21df0a413d8dd947168fa1bdeb63c434ac7c15099b6aad6fba67d5ed384a6fc5');
INSERT INTO public.audit_records VALUES ('01a1e20e-c9dc-7241-a29f-de91d3e44cb3', '2026-11-16T01:53:02.428154Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'get_run', '', '', '', '', 'done', '', 'bb4ab8073c0268ebdc94616a93bc5ee0', 'a077db7d32fcb9cd35dd6bd1ff358aa5c8e887b9207052e73d84bde664098810');
INSERT INTO public.audit_records VALUES ('01a1e20e-ca64-7677-a8d1-f10faf04c87c', '2026-11-16T01:53:02.564416Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'system', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'workflow note@1', '', 'create_epic', 'EP-003', '01a1e20e-ca22-7027-be01-4781c8e91a8d', '', 'ce996a8b6666a5e367229b362f2e474326932aa0baa00bbf73f3547208adcc4b', 'done', '', 'a4d0a973a492e1fdffa837dba72600c4', '34f0bd6482a1d8fae1565f9960124fdd05e04a4434d7165a57cd11d1328e63eb');
INSERT INTO public.audit_records VALUES ('01a1e20e-cba3-7db8-ad30-4bd6cb2a18df', '2026-11-16T01:53:02.883873Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'run_workflow', '01a1e20e-cb77-751d-b4d7-f6183988bb54', '01a1e20e-cb99-7ab4-97d1-22dbf41bf655', '', '58778ae3cb06e7a547c2e38b7f50cad96b5e8149940208cde02980514d24ed46', 'done', '', '71c58746ffe7b796c6759fb2eca1ed21', 'e660a0a29e4310a13adbaa7a78793ec8998ae7aebcfa8b2f84e50ec4b9bb5052');
INSERT INTO public.audit_records VALUES ('01a1e20e-cbe7-702f-8041-71be11609ca8', '2026-11-16T01:53:02.951016Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'run_workflow', '01a1e20e-cbd2-7fea-b7b5-6490b5d07dfd', '01a1e20e-cbe6-7ec8-895a-01934fa110ae', '', '2f9cd9870a26b07d4a4f7f79f7856a8c53a0ad050c984db19fb24ce239e75a2f', 'done', '', 'bcf4b32dbf5092853b27999b20ffe717', '21c1beeafabe585fbcd02b55c0aa71b581fc5b8892a1c2f09443837429b007c5');
INSERT INTO public.audit_records VALUES ('01a1e20e-ca56-7c1f-9d6a-e67ae6b264b0', '2026-11-16T01:53:02.550771Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'get_run', '', '', '', '', 'done', '', '8cfd3b0fecaaaf4cbf91be23e01d4f3f', '8f49d0760ec599d6bf4c8b405afae4915e7eabe656106946cf0aa4beb5cfeec1');
INSERT INTO public.audit_records VALUES ('01a1e20e-cad4-7517-9c54-22ebada1448f', '2026-11-16T01:53:02.676334Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'get_run', '', '', '', '', 'done', '', '38e11d95e892cc6a7574b3056d986bd1', 'd6860ca7b91c50180e4cb035a0349843b3a3b3f201d28144b655a992a9b23b70');
INSERT INTO public.audit_records VALUES ('01a1e20e-cb59-79d8-8fc6-28ab5fcf1e21', '2026-11-16T01:53:02.809631Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'get_run', '', '', '', '', 'done', '', 'b28e656b0a49f5cc58b97a253f75a216', '6a7748c62d99495921470c7a5fc20327732766612f2d41524e69c0f48e20c882');
INSERT INTO public.audit_records VALUES ('01a1e20e-cc4e-7de5-9f38-0ebf12a06db8', '2026-11-16T01:53:03.054883Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'get_run', '', '', '', '', 'done', '', 'ec21b40cad77eaf65d1c694423c7f6d7', '4a2359e1f7029d8b2defa92b831c78497017428c88914fcd0bdfb50ea2990f97');
INSERT INTO public.audit_records VALUES ('01a1e20e-cc98-764d-9a93-90173acee638', '2026-11-16T01:53:03.128407Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'token', 'rest', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'python-httpx/0.28.1', '127.0.0.1', 'get_run', '', '', '', '', 'done', '', 'e0f2beef2468e513d2120ca3f1a27181', '90043d89a34b9aa14e40bbe8663323394b3a1ea04f701ee1c727a341f506bd18');
INSERT INTO public.audit_records VALUES ('01a1e20e-dcba-70ff-a0bd-40ef8bf769cb', '2026-11-16T01:53:07.258078Z', '', 'local', 'local', 'cli', '', 'root@vm', '', 'create_user', 'nina', '01a1e20e-dcb9-7002-9601-1285dfddd22a', '', '6b4f368b53865c19e44f6875657c841dac340325cf16d7df16d22e155287e1d2', 'done', '', 'dce6d592798b429bb664ee8ead6c2803', '7a957ff15ae41d7982defaecaa758cb0c9ec8a5b116abc4361a4e32a8058214f');
INSERT INTO public.audit_records VALUES ('01a1e20e-f395-7fc5-817d-9354105e8bb8', '2026-11-16T01:53:13.109998Z', '', 'local', 'local', 'cli', '', 'root@vm', '', 'create_token', 'laptop', '01a1e20e-f391-74d2-a3ba-6d76ed386dd5', '', 'b1083f805c34ac3a4b881cf847b7d111f6aeacb5d43cb78e497a62f916ea26b5', 'done', '', 'f35430a465544e859b9f68530a4ea881', 'fc20a14e699165bdde404d1d8dd4a1af18012fe6a6ef1ffe8d60a6152419f11e');

INSERT INTO public.audit_seals VALUES (1, '01a1e20e-ac05-760a-bf60-16a09fecc9cd', '', 'd5dabd4ce6b216300a1593445f18d418d886f56f2d68628b275d5eb1b519c939');
INSERT INTO public.audit_seals VALUES (2, '01a1e20e-be7e-7b31-a2f1-972534716130', 'd5dabd4ce6b216300a1593445f18d418d886f56f2d68628b275d5eb1b519c939', '2ad76ec1adc4f6bca47c47e0f0d8349aaed7782eff9c682342f61e5748f95656');
INSERT INTO public.audit_seals VALUES (3, '01a1e20e-bf50-70fc-b7f2-ebb72d39026d', '2ad76ec1adc4f6bca47c47e0f0d8349aaed7782eff9c682342f61e5748f95656', 'd98faab299408f5735761b9a452d6a6d0d6314308bddaf15c791e66db670661a');
INSERT INTO public.audit_seals VALUES (4, '01a1e20e-c019-71ed-a465-2c1f8fd5a607', 'd98faab299408f5735761b9a452d6a6d0d6314308bddaf15c791e66db670661a', '9590bb0b61334083d5b1315586466ffde7e17a5c97fc7a30a1485b8098a86d84');
INSERT INTO public.audit_seals VALUES (5, '01a1e20e-c0d7-7a2e-9779-bf6d562100b4', '9590bb0b61334083d5b1315586466ffde7e17a5c97fc7a30a1485b8098a86d84', '6fda98c97df2235aa3a9a78840f031ebf21f8b2eda6d4f70a515505f3931b08d');
INSERT INTO public.audit_seals VALUES (6, '01a1e20e-c15d-7090-bebb-9660aa46ed53', '6fda98c97df2235aa3a9a78840f031ebf21f8b2eda6d4f70a515505f3931b08d', 'c5abdcb588914288594d4a40742c4436f830e64e9ae157fd73faef26ffb47ba8');
INSERT INTO public.audit_seals VALUES (7, '01a1e20e-c23f-778a-9bb8-813846c5b5be', 'c5abdcb588914288594d4a40742c4436f830e64e9ae157fd73faef26ffb47ba8', '5c492959022077630f133dc44ce4451892f6b07d183b09e0d0724bc060661f5b');
INSERT INTO public.audit_seals VALUES (8, '01a1e20e-c31b-7663-ad3c-91790344745c', '5c492959022077630f133dc44ce4451892f6b07d183b09e0d0724bc060661f5b', '9e2af794d7bddf13dcda52d13b3716fef3ad118b79e91d3027cf8b12661b961f');
INSERT INTO public.audit_seals VALUES (9, '01a1e20e-c3d9-747e-ae9f-5045f1406133', '9e2af794d7bddf13dcda52d13b3716fef3ad118b79e91d3027cf8b12661b961f', '534e2ac7547ed263135865898251a5d4a5db33d2faad11ed5651b261638e66a5');
INSERT INTO public.audit_seals VALUES (10, '01a1e20e-c469-79b7-9f74-de94e70e8066', '534e2ac7547ed263135865898251a5d4a5db33d2faad11ed5651b261638e66a5', '0aa93de3d2918f38fbd7605d68776a3ed65cad70d068c7954bba8acb8a5fb0c4');
INSERT INTO public.audit_seals VALUES (11, '01a1e20e-c52c-74ce-b610-e2f3d791244e', '0aa93de3d2918f38fbd7605d68776a3ed65cad70d068c7954bba8acb8a5fb0c4', '32cbe6546b02b650db2a7f8c3284b909e50d06f7948f115014143cd58e12e0e1');
INSERT INTO public.audit_seals VALUES (12, '01a1e20e-c59e-7fb4-b6bc-1eb169310985', '32cbe6546b02b650db2a7f8c3284b909e50d06f7948f115014143cd58e12e0e1', '6c165e512a55287584892c898ce3711de84853ebd7a07e4187e049fc8452c024');
INSERT INTO public.audit_seals VALUES (13, '01a1e20e-c6ba-7fd0-91f2-30cfab5346d4', '6c165e512a55287584892c898ce3711de84853ebd7a07e4187e049fc8452c024', 'b4e7972727b766e95fcff4bade195b255e6c83646702ff21319a04e0dca3e60e');
INSERT INTO public.audit_seals VALUES (14, '01a1e20e-c72d-71df-8b13-fcbd7b0fc3b7', 'b4e7972727b766e95fcff4bade195b255e6c83646702ff21319a04e0dca3e60e', 'aaa73bfa4283807995f2cfbcba13eb9c73ab73bea17d782d94e7515c3b3a71fe');
INSERT INTO public.audit_seals VALUES (15, '01a1e20e-c79d-7bd4-8f02-9150bbaaa3b7', 'aaa73bfa4283807995f2cfbcba13eb9c73ab73bea17d782d94e7515c3b3a71fe', '4a003cc83e3bff0d54a1035d96cf25e57558fa05717c0a131a9b7af5310d9742');
INSERT INTO public.audit_seals VALUES (16, '01a1e20e-c7e1-7be8-82a6-b226a51c5ef8', '4a003cc83e3bff0d54a1035d96cf25e57558fa05717c0a131a9b7af5310d9742', '0d394108eea203703b374e52a9f12f1b02a24c4b058f6d110ef904e3e2d0710a');
INSERT INTO public.audit_seals VALUES (17, '01a1e20e-c848-7077-b909-517875cbcbf5', '0d394108eea203703b374e52a9f12f1b02a24c4b058f6d110ef904e3e2d0710a', 'e7e453febc28a16f159299435e2bd443553460e5de11405e1141fdacdfc2f646');
INSERT INTO public.audit_seals VALUES (18, '01a1e20e-c878-793d-96bc-a5d00172d65c', 'e7e453febc28a16f159299435e2bd443553460e5de11405e1141fdacdfc2f646', 'eec1378a502bd4e6833ccbaee9509b3d2278f9b667f4b78f8ab53365f12477a1');
INSERT INTO public.audit_seals VALUES (19, '01a1e20e-c908-7083-a510-356e4d126cfa', 'eec1378a502bd4e6833ccbaee9509b3d2278f9b667f4b78f8ab53365f12477a1', '04973f2dfca6121081b89c49476a58fcf319a805f4e43f31e6ffd535173e74ba');
INSERT INTO public.audit_seals VALUES (20, '01a1e20e-c943-70d9-be83-eda7b71b834e', '04973f2dfca6121081b89c49476a58fcf319a805f4e43f31e6ffd535173e74ba', '9fbec9be86a885a3951a32c05bab269f8f69c782ba03c4c0eec325fd6930bc3c');
INSERT INTO public.audit_seals VALUES (21, '01a1e20e-c969-76d3-b87b-9d76e34ab6ed', '9fbec9be86a885a3951a32c05bab269f8f69c782ba03c4c0eec325fd6930bc3c', '7216bf23e864bb7c11fb7f4bf957413e0dd70254ce4d480883352cfb710e5c6e');
INSERT INTO public.audit_seals VALUES (22, '01a1e20e-c997-74e3-997e-20d915e377dd', '7216bf23e864bb7c11fb7f4bf957413e0dd70254ce4d480883352cfb710e5c6e', 'c63e5453ec65a574f929beb60f073446a60b3b81794fdbe913594502c979440d');
INSERT INTO public.audit_seals VALUES (23, '01a1e20e-c9dc-7241-a29f-de91d3e44cb3', 'c63e5453ec65a574f929beb60f073446a60b3b81794fdbe913594502c979440d', 'fe72d379052cf4c27bed70bb533691b5749865a80ba4e469b8db71d5b32e33a3');
INSERT INTO public.audit_seals VALUES (24, '01a1e20e-ca56-7c1f-9d6a-e67ae6b264b0', 'fe72d379052cf4c27bed70bb533691b5749865a80ba4e469b8db71d5b32e33a3', '2ac70304d5be368c6f74eaaa1d182ca16c2ef93f16401a30aa051f0779b8cb75');
INSERT INTO public.audit_seals VALUES (25, '01a1e20e-ca64-7677-a8d1-f10faf04c87c', '2ac70304d5be368c6f74eaaa1d182ca16c2ef93f16401a30aa051f0779b8cb75', '8ee09b210c9e7e91b624f6cd8b0640c6c8968473da0585c819de1d5dc1fa2732');
INSERT INTO public.audit_seals VALUES (26, '01a1e20e-cad4-7517-9c54-22ebada1448f', '8ee09b210c9e7e91b624f6cd8b0640c6c8968473da0585c819de1d5dc1fa2732', '4847f1a0509cae6e2178dc0eb8e00785edd22dfd7c4487650ba51aa5b0688fdc');
INSERT INTO public.audit_seals VALUES (27, '01a1e20e-cb59-79d8-8fc6-28ab5fcf1e21', '4847f1a0509cae6e2178dc0eb8e00785edd22dfd7c4487650ba51aa5b0688fdc', '1d2826be31eebcc6d2a6b0d14f1775f942256f3066557080224b5d344ca23f21');
INSERT INTO public.audit_seals VALUES (28, '01a1e20e-cba3-7db8-ad30-4bd6cb2a18df', '1d2826be31eebcc6d2a6b0d14f1775f942256f3066557080224b5d344ca23f21', '9a81815771b6a4f9d7eb8f7e1cac6e28f79a7df398bdb38351570bd42e8761a6');
INSERT INTO public.audit_seals VALUES (29, '01a1e20e-cbe7-702f-8041-71be11609ca8', '9a81815771b6a4f9d7eb8f7e1cac6e28f79a7df398bdb38351570bd42e8761a6', 'cd581b38297a859489e72abceab309a4d1e7d4693de4a7b2d6651b4237f773a8');
INSERT INTO public.audit_seals VALUES (30, '01a1e20e-cc4e-7de5-9f38-0ebf12a06db8', 'cd581b38297a859489e72abceab309a4d1e7d4693de4a7b2d6651b4237f773a8', '6db7ac8e2b1104c469ae3de4edab26dd7145d11aab71e5f6f213c3885605e710');
INSERT INTO public.audit_seals VALUES (31, '01a1e20e-cc98-764d-9a93-90173acee638', '6db7ac8e2b1104c469ae3de4edab26dd7145d11aab71e5f6f213c3885605e710', 'd5ec00f2d8dd6bf1f33088c88ef97c5d9b7ea9b1a7db36e289092574848df4c4');
INSERT INTO public.audit_seals VALUES (32, '01a1e20e-dcba-70ff-a0bd-40ef8bf769cb', 'd5ec00f2d8dd6bf1f33088c88ef97c5d9b7ea9b1a7db36e289092574848df4c4', 'fcf7d086887634eb8598e56b14a13116129aed220fd4d353129ba4cf89b394b9');
INSERT INTO public.audit_seals VALUES (33, '01a1e20e-f395-7fc5-817d-9354105e8bb8', 'fcf7d086887634eb8598e56b14a13116129aed220fd4d353129ba4cf89b394b9', '2fa4ba5e597785330b7d1f79ec078ff422458a0a5d03d2d52d917dce30f76c33');

INSERT INTO public.baseline_entries VALUES ('01a1e20e-c698-78f6-b75c-6563397480e1', 1, '01a1e20e-bfc7-743a-8fd5-cb23b86ef8e9', 'acceptance_criteria', 'AC-001', 1, '{"title" : "", "description" : "WHEN a card is declined THE till SHALL say so within two seconds.", "status" : "", "priority" : 0, "type" : null, "parent" : "US-001", "acceptance_criteria" : null}');
INSERT INTO public.baseline_entries VALUES ('01a1e20e-c698-78f6-b75c-6563397480e1', 2, '01a1e20e-be07-703b-927d-e82464e19be1', 'epic', 'EP-001', 1, '{"title" : "The till takes money", "description" : "Customers pay at the **till**: cash, card, voucher.", "status" : "Backlog", "priority" : 3, "type" : null, "parent" : null, "acceptance_criteria" : null}');
INSERT INTO public.baseline_entries VALUES ('01a1e20e-c698-78f6-b75c-6563397480e1', 3, '01a1e20e-c207-76c4-a483-63d534f2c16b', 'relationship', 'REQ-001 blocks REQ-002', 1, '{"source" : "REQ-001", "type" : "blocks", "target" : "REQ-002"}');
INSERT INTO public.baseline_entries VALUES ('01a1e20e-c698-78f6-b75c-6563397480e1', 4, '01a1e20e-c09c-733d-a126-e97f5df4b3ea', 'requirement', 'REQ-001', 1, '{"title" : "Charge the card", "description" : "The till shall charge the card once.", "status" : "Draft", "priority" : 3, "type" : "Functional", "parent" : "US-001", "acceptance_criteria" : null}');
INSERT INTO public.baseline_entries VALUES ('01a1e20e-c698-78f6-b75c-6563397480e1', 5, '01a1e20e-c140-74b2-8c47-fdb161014152', 'requirement', 'REQ-002', 1, '{"title" : "Refund a Überweisung", "description" : "The till shall refund what was charged – naïvely put: give it back.", "status" : "Draft", "priority" : 3, "type" : "Functional", "parent" : "US-001", "acceptance_criteria" : null}');
INSERT INTO public.baseline_entries VALUES ('01a1e20e-c698-78f6-b75c-6563397480e1', 6, '01a1e20e-c4f1-7a90-980f-04e3310bf075', 'steering_document', 'STD-001', 1, '{"title" : "Security", "description" : "No card numbers in logs.", "status" : "", "priority" : 0, "type" : null, "parent" : null, "acceptance_criteria" : null}');
INSERT INTO public.baseline_entries VALUES ('01a1e20e-c698-78f6-b75c-6563397480e1', 7, '01a1e20e-bf26-7e70-b78f-43e426a262b9', 'user_story', 'US-001', 1, '{"title" : "Pay by card", "description" : "As a customer I want to pay by card so that I need no cash.", "status" : "Backlog", "priority" : 3, "type" : null, "parent" : "EP-001", "acceptance_criteria" : null}');

INSERT INTO public.baselines VALUES ('01a1e20e-c698-78f6-b75c-6563397480e1', 'First review', 'first review', '', '01a1e20e-abfc-7597-985e-da3b391860c3', NULL, '2026-11-16T01:53:01.576418Z');

INSERT INTO public.changes VALUES ('01a1e20e-be28-7b32-86de-d570a727d616', 1, '2026-11-16T01:52:59.368036Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'create_epic', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-bf2d-7090-933d-657fa7c8abf4', 2, '2026-11-16T01:52:59.624823Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'create_user_story', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-bffc-757f-b745-48339c450e97', 3, '2026-11-16T01:52:59.831333Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'create_acceptance_criteria', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-c0c0-70ee-abbd-576fa3dcf697', 4, '2026-11-16T01:53:00.024750Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'create_requirement', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-c147-7ecf-bb22-5f1688f18f6e', 5, '2026-11-16T01:53:00.201831Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'create_requirement', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-c233-782f-b7a7-b7ae5978db83', 6, '2026-11-16T01:53:00.333065Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'create_relationship', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-c305-75e5-a60e-60458d5b1117', 7, '2026-11-16T01:53:00.643750Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'create_label', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-c391-743a-97cf-686008d4b115', 8, '2026-11-16T01:53:00.788113Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'label_item', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-c452-7007-8257-b74c93a3036f', 9, '2026-11-16T01:53:00.955170Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'add_comment', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-c518-7238-a66a-1695ca43fc0a', 10, '2026-11-16T01:53:01.163122Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'create_steering_document', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-c598-7210-8288-7fb6936dd26a', 11, '2026-11-16T01:53:01.303864Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'create_view', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-c6a9-7239-8a99-200a72bdd503', 12, '2026-11-16T01:53:01.576418Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'create_baseline', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-c717-7916-892e-fe1d27d6016c', 13, '2026-11-16T01:53:01.680882Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'propose_changes', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-c77f-7704-9a3d-5f83204c946b', 14, '2026-11-16T01:53:01.805846Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'update_requirement', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-c7d7-7722-a9f2-ccd46bd7e795', 15, '2026-11-16T01:53:01.905552Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'create_epic', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-c83a-7660-9d73-fd282c1ab18a', 16, '2026-11-16T01:53:01.955991Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'delete_epic', 'rest', 'python-httpx/0.28.1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);
INSERT INTO public.changes VALUES ('01a1e20e-ca22-7027-be01-4781c8e91a8d', 17, '2026-11-16T01:53:02.446530Z', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'create_epic', 'system', 'workflow note@1', '01a1e20e-abfd-7452-baa7-3cbb29a71281', '', NULL, NULL);

INSERT INTO public.comments VALUES ('01a1e20e-c428-7d80-b2e0-90bb24b99b30', '01a1e20e-c09c-733d-a126-e97f5df4b3ea', NULL, '01a1e20e-abfc-7597-985e-da3b391860c3', 'What about vouchers?', '', NULL, 0, NULL, 1, '2026-11-16T01:53:00.955170Z', '2026-11-16T01:53:00.955170Z');

INSERT INTO public.counters VALUES ('prompt', 0);
INSERT INTO public.counters VALUES ('user_story', 1);
INSERT INTO public.counters VALUES ('acceptance_criteria', 1);
INSERT INTO public.counters VALUES ('requirement', 2);
INSERT INTO public.counters VALUES ('steering_document', 1);
INSERT INTO public.counters VALUES ('epic', 3);

INSERT INTO public.idempotency VALUES ('01a1e20e-abfc-7597-985e-da3b391860c3', 'becf41fa836f92db12550bc3d4f737876cb9a71aa163da40d9fa8c394a731e6a', '2f1804b14405a890c2241ee8c71233580a94e44ce1c6f5c0be44f9a78a09993f', '01a1e20e-ca22-7027-be01-4781c8e91a8d', '{"change_id":"01a1e20e-ca22-7027-be01-4781c8e91a8d","id":"01a1e20e-ca0e-7032-b383-3945b8177a15","reference_id":"EP-003","version":1,"created_at":"2026-11-16T01:53:02.446530Z","updated_at":"2026-11-16T01:53:02.446530Z","title":"Written by a run","description":"","status":"Backlog","priority":3,"creator":"admin","assignee":"admin","labels":[]}', '2026-11-16T01:53:02.446530Z');

INSERT INTO public.item_labels VALUES ('01a1e20e-c09c-733d-a126-e97f5df4b3ea', '01a1e20e-c2f9-7d78-b35f-cd91aab92498');

INSERT INTO public.items VALUES ('01a1e20e-be07-703b-927d-e82464e19be1', 'epic', 1, 'EP-001', NULL, NULL, 1, 'The till takes money', 'Customers pay at the **till**: cash, card, voucher.', 'Backlog', 3, NULL, '01a1e20e-abfc-7597-985e-da3b391860c3', '01a1e20e-abfc-7597-985e-da3b391860c3', NULL, '', '', 0, 1, 1, '2026-11-16T01:52:59.368036Z', '2026-11-16T01:52:59.368036Z');
INSERT INTO public.items VALUES ('01a1e20e-bf26-7e70-b78f-43e426a262b9', 'user_story', 1, 'US-001', '01a1e20e-be07-703b-927d-e82464e19be1', NULL, 1, 'Pay by card', 'As a customer I want to pay by card so that I need no cash.', 'Backlog', 3, NULL, '01a1e20e-abfc-7597-985e-da3b391860c3', '01a1e20e-abfc-7597-985e-da3b391860c3', NULL, '', '', 0, 1, 1, '2026-11-16T01:52:59.624823Z', '2026-11-16T01:52:59.624823Z');
INSERT INTO public.items VALUES ('01a1e20e-bfc7-743a-8fd5-cb23b86ef8e9', 'acceptance_criteria', 1, 'AC-001', '01a1e20e-bf26-7e70-b78f-43e426a262b9', NULL, 1, '', 'WHEN a card is declined THE till SHALL say so within two seconds.', '', 0, NULL, '01a1e20e-abfc-7597-985e-da3b391860c3', NULL, NULL, '', '', 0, 1, 1, '2026-11-16T01:52:59.831333Z', '2026-11-16T01:52:59.831333Z');
INSERT INTO public.items VALUES ('01a1e20e-c140-74b2-8c47-fdb161014152', 'requirement', 2, 'REQ-002', '01a1e20e-bf26-7e70-b78f-43e426a262b9', NULL, 2, 'Refund a Überweisung', 'The till shall refund what was charged – naïvely put: give it back.', 'Draft', 3, 'Functional', '01a1e20e-abfc-7597-985e-da3b391860c3', '01a1e20e-abfc-7597-985e-da3b391860c3', NULL, '', '', 0, 1, 1, '2026-11-16T01:53:00.201831Z', '2026-11-16T01:53:00.201831Z');
INSERT INTO public.items VALUES ('01a1e20e-c4f1-7a90-980f-04e3310bf075', 'steering_document', 1, 'STD-001', NULL, NULL, 1, 'Security', 'No card numbers in logs.', '', 0, NULL, '01a1e20e-abfc-7597-985e-da3b391860c3', NULL, NULL, '', '', 0, 1, 1, '2026-11-16T01:53:01.163122Z', '2026-11-16T01:53:01.163122Z');
INSERT INTO public.items VALUES ('01a1e20e-c09c-733d-a126-e97f5df4b3ea', 'requirement', 1, 'REQ-001', '01a1e20e-bf26-7e70-b78f-43e426a262b9', NULL, 1, 'Charge the card exactly once', 'The till shall charge the card once.', 'Draft', 3, 'Functional', '01a1e20e-abfc-7597-985e-da3b391860c3', '01a1e20e-abfc-7597-985e-da3b391860c3', NULL, '', '', 0, 2, 2, '2026-11-16T01:53:00.024750Z', '2026-11-16T01:53:01.805846Z');
INSERT INTO public.items VALUES ('01a1e20e-ca0e-7032-b383-3945b8177a15', 'epic', 3, 'EP-003', NULL, NULL, 2, 'Written by a run', '', 'Backlog', 3, NULL, '01a1e20e-abfc-7597-985e-da3b391860c3', '01a1e20e-abfc-7597-985e-da3b391860c3', NULL, '', '', 0, 1, 1, '2026-11-16T01:53:02.446530Z', '2026-11-16T01:53:02.446530Z');

INSERT INTO public.labels VALUES ('01a1e20e-c2f9-7d78-b35f-cd91aab92498', 'payments', 'payments', '#6b7280', '2026-11-16T01:53:00.643750Z');

INSERT INTO public.leases VALUES ('agent_health', '0400811b-580c-4066-971f-cb699bcd4bc2', 1794794065.078239);

INSERT INTO public.members VALUES ('fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 'executor', 'vm:22600', 1794793975.035436, 1794794006.052788);

INSERT INTO public.proposals VALUES ('01a1e20e-c70c-7f68-ae19-8c9b1082eb43', '01a1e20e-abfc-7597-985e-da3b391860c3', 'Customers ask for it.', '[{"operation":"create_epic","arguments":{"title":"Self checkout"}}]', '[{"action":"created","kind":"epic","id":"","reference_id":"EP-002","version":0,"differences":[{"field":"title","after":"Self checkout"},{"field":"status","after":"Backlog"},{"field":"priority","after":3},{"field":"creator","before":null,"after":"admin"},{"field":"assignee","before":null,"after":"admin"}]}]', 'open', NULL, NULL, '', '2026-11-16T01:53:01.680882Z');

INSERT INTO public.relationship_types VALUES ('depends_on', 'is_depended_on_by', 0, 1);
INSERT INTO public.relationship_types VALUES ('blocks', 'is_blocked_by', 0, 1);
INSERT INTO public.relationship_types VALUES ('relates_to', 'relates_to', 1, 0);
INSERT INTO public.relationship_types VALUES ('conflicts_with', 'conflicts_with', 1, 0);
INSERT INTO public.relationship_types VALUES ('derives_from', 'is_source_of', 0, 1);
INSERT INTO public.relationship_types VALUES ('refines', 'is_refined_by', 0, 1);
INSERT INTO public.relationship_types VALUES ('verifies', 'is_verified_by', 0, 0);
INSERT INTO public.relationship_types VALUES ('satisfies', 'is_satisfied_by', 0, 0);
INSERT INTO public.relationship_types VALUES ('duplicates', 'is_duplicated_by', 0, 0);

INSERT INTO public.relationships VALUES ('01a1e20e-c207-76c4-a483-63d534f2c16b', '01a1e20e-c09c-733d-a126-e97f5df4b3ea', '01a1e20e-c140-74b2-8c47-fdb161014152', 'blocks', '01a1e20e-abfc-7597-985e-da3b391860c3', '2026-11-16T01:53:00.333065Z', 1, 1, NULL, NULL, '');

INSERT INTO public.requirement_types VALUES ('Functional', 'functional', '', '2026-01-01T00:00:00.000000Z');
INSERT INTO public.requirement_types VALUES ('Non-Functional', 'non-functional', '', '2026-01-01T00:00:00.000000Z');
INSERT INTO public.requirement_types VALUES ('Business Rule', 'business rule', '', '2026-01-01T00:00:00.000000Z');
INSERT INTO public.requirement_types VALUES ('Interface', 'interface', '', '2026-01-01T00:00:00.000000Z');
INSERT INTO public.requirement_types VALUES ('Data', 'data', '', '2026-01-01T00:00:00.000000Z');

INSERT INTO public.revisions VALUES ('01a1e20e-be28-7b32-86de-d570a727d616', 0, '01a1e20e-be07-703b-927d-e82464e19be1', 'epic', 'EP-001', 1, 'created', NULL, '{"id":"01a1e20e-be07-703b-927d-e82464e19be1","kind":"epic","number":1,"reference_id":"EP-001","position":1.0,"title":"The till takes money","description":"Customers pay at the **till**: cash, card, voucher.","status":"Backlog","priority":3,"creator_id":"01a1e20e-abfc-7597-985e-da3b391860c3","assignee_id":"01a1e20e-abfc-7597-985e-da3b391860c3","version":1,"said_version":1,"created_at":"2026-11-16T01:52:59.368036Z","updated_at":"2026-11-16T01:52:59.368036Z"}');
INSERT INTO public.revisions VALUES ('01a1e20e-bf2d-7090-933d-657fa7c8abf4', 0, '01a1e20e-bf26-7e70-b78f-43e426a262b9', 'user_story', 'US-001', 1, 'created', NULL, '{"id":"01a1e20e-bf26-7e70-b78f-43e426a262b9","kind":"user_story","number":1,"reference_id":"US-001","position":1.0,"parent_id":"01a1e20e-be07-703b-927d-e82464e19be1","title":"Pay by card","description":"As a customer I want to pay by card so that I need no cash.","status":"Backlog","priority":3,"creator_id":"01a1e20e-abfc-7597-985e-da3b391860c3","assignee_id":"01a1e20e-abfc-7597-985e-da3b391860c3","version":1,"said_version":1,"created_at":"2026-11-16T01:52:59.624823Z","updated_at":"2026-11-16T01:52:59.624823Z"}');
INSERT INTO public.revisions VALUES ('01a1e20e-bffc-757f-b745-48339c450e97', 0, '01a1e20e-bfc7-743a-8fd5-cb23b86ef8e9', 'acceptance_criteria', 'AC-001', 1, 'created', NULL, '{"id":"01a1e20e-bfc7-743a-8fd5-cb23b86ef8e9","kind":"acceptance_criteria","number":1,"reference_id":"AC-001","position":1.0,"parent_id":"01a1e20e-bf26-7e70-b78f-43e426a262b9","description":"WHEN a card is declined THE till SHALL say so within two seconds.","creator_id":"01a1e20e-abfc-7597-985e-da3b391860c3","version":1,"said_version":1,"created_at":"2026-11-16T01:52:59.831333Z","updated_at":"2026-11-16T01:52:59.831333Z"}');
INSERT INTO public.revisions VALUES ('01a1e20e-c0c0-70ee-abbd-576fa3dcf697', 0, '01a1e20e-c09c-733d-a126-e97f5df4b3ea', 'requirement', 'REQ-001', 1, 'created', NULL, '{"id":"01a1e20e-c09c-733d-a126-e97f5df4b3ea","kind":"requirement","number":1,"reference_id":"REQ-001","position":1.0,"parent_id":"01a1e20e-bf26-7e70-b78f-43e426a262b9","criteria_id":null,"type":"Functional","title":"Charge the card","description":"The till shall charge the card once.","status":"Draft","priority":3,"creator_id":"01a1e20e-abfc-7597-985e-da3b391860c3","assignee_id":"01a1e20e-abfc-7597-985e-da3b391860c3","version":1,"said_version":1,"created_at":"2026-11-16T01:53:00.024750Z","updated_at":"2026-11-16T01:53:00.024750Z"}');
INSERT INTO public.revisions VALUES ('01a1e20e-c147-7ecf-bb22-5f1688f18f6e', 0, '01a1e20e-c140-74b2-8c47-fdb161014152', 'requirement', 'REQ-002', 1, 'created', NULL, '{"id":"01a1e20e-c140-74b2-8c47-fdb161014152","kind":"requirement","number":2,"reference_id":"REQ-002","position":2.0,"parent_id":"01a1e20e-bf26-7e70-b78f-43e426a262b9","criteria_id":null,"type":"Functional","title":"Refund a Überweisung","description":"The till shall refund what was charged – naïvely put: give it back.","status":"Draft","priority":3,"creator_id":"01a1e20e-abfc-7597-985e-da3b391860c3","assignee_id":"01a1e20e-abfc-7597-985e-da3b391860c3","version":1,"said_version":1,"created_at":"2026-11-16T01:53:00.201831Z","updated_at":"2026-11-16T01:53:00.201831Z"}');
INSERT INTO public.revisions VALUES ('01a1e20e-c233-782f-b7a7-b7ae5978db83', 0, '01a1e20e-c207-76c4-a483-63d534f2c16b', 'relationship', 'REQ-001 blocks REQ-002', 0, 'created', NULL, '{"id":"01a1e20e-c207-76c4-a483-63d534f2c16b","source_id":"01a1e20e-c09c-733d-a126-e97f5df4b3ea","target_id":"01a1e20e-c140-74b2-8c47-fdb161014152","type":"blocks","creator_id":"01a1e20e-abfc-7597-985e-da3b391860c3","created_at":"2026-11-16T01:53:00.333065Z","source_version":1,"target_version":1,"confirmed_by":null,"confirmed_at":null,"confirmed_reason":""}');
INSERT INTO public.revisions VALUES ('01a1e20e-c305-75e5-a60e-60458d5b1117', 0, '01a1e20e-c2f9-7d78-b35f-cd91aab92498', 'label', 'payments', 0, 'created', NULL, '{"id":"01a1e20e-c2f9-7d78-b35f-cd91aab92498","name":"payments","name_key":"payments","colour":"#6b7280","created_at":"2026-11-16T01:53:00.643750Z"}');
INSERT INTO public.revisions VALUES ('01a1e20e-c391-743a-97cf-686008d4b115', 0, '01a1e20e-c09c-733d-a126-e97f5df4b3ea:01a1e20e-c2f9-7d78-b35f-cd91aab92498', 'item_label', 'REQ-001 payments', 0, 'created', NULL, '{"item_id":"01a1e20e-c09c-733d-a126-e97f5df4b3ea","label_id":"01a1e20e-c2f9-7d78-b35f-cd91aab92498"}');
INSERT INTO public.revisions VALUES ('01a1e20e-c452-7007-8257-b74c93a3036f', 0, '01a1e20e-c428-7d80-b2e0-90bb24b99b30', 'comment', 'REQ-001', 1, 'created', NULL, '{"id":"01a1e20e-c428-7d80-b2e0-90bb24b99b30","target_id":"01a1e20e-c09c-733d-a126-e97f5df4b3ea","reply_to":null,"author_id":"01a1e20e-abfc-7597-985e-da3b391860c3","text":"What about vouchers?","quote":"","quote_position":null,"resolved":0,"resolved_by":null,"version":1,"created_at":"2026-11-16T01:53:00.955170Z","updated_at":"2026-11-16T01:53:00.955170Z"}');
INSERT INTO public.revisions VALUES ('01a1e20e-c518-7238-a66a-1695ca43fc0a', 0, '01a1e20e-c4f1-7a90-980f-04e3310bf075', 'steering_document', 'STD-001', 1, 'created', NULL, '{"id":"01a1e20e-c4f1-7a90-980f-04e3310bf075","kind":"steering_document","number":1,"reference_id":"STD-001","position":1.0,"title":"Security","description":"No card numbers in logs.","creator_id":"01a1e20e-abfc-7597-985e-da3b391860c3","version":1,"said_version":1,"created_at":"2026-11-16T01:53:01.163122Z","updated_at":"2026-11-16T01:53:01.163122Z"}');
INSERT INTO public.revisions VALUES ('01a1e20e-c598-7210-8288-7fb6936dd26a', 0, '01a1e20e-c58d-7d6c-9dd6-a92c8dd8da00', 'saved_view', 'Mine', 0, 'created', NULL, '{"id":"01a1e20e-c58d-7d6c-9dd6-a92c8dd8da00","owner_id":"01a1e20e-abfc-7597-985e-da3b391860c3","name":"Mine","filter":"{}","sort":"","shared":0,"created_at":"2026-11-16T01:53:01.303864Z","updated_at":"2026-11-16T01:53:01.303864Z"}');
INSERT INTO public.revisions VALUES ('01a1e20e-c6a9-7239-8a99-200a72bdd503', 0, '01a1e20e-c698-78f6-b75c-6563397480e1', 'baseline', 'First review', 0, 'created', NULL, '{"id":"01a1e20e-c698-78f6-b75c-6563397480e1","name":"First review","name_key":"first review","description":"","author_id":"01a1e20e-abfc-7597-985e-da3b391860c3","epic_id":null,"created_at":"2026-11-16T01:53:01.576418Z"}');
INSERT INTO public.revisions VALUES ('01a1e20e-c717-7916-892e-fe1d27d6016c', 0, '01a1e20e-c70c-7f68-ae19-8c9b1082eb43', 'proposal', '', 0, 'created', NULL, '{"id":"01a1e20e-c70c-7f68-ae19-8c9b1082eb43","author_id":"01a1e20e-abfc-7597-985e-da3b391860c3","reason":"Customers ask for it.","state":"open","decided_by":null,"decided_at":null,"decision_reason":"","created_at":"2026-11-16T01:53:01.680882Z"}');
INSERT INTO public.revisions VALUES ('01a1e20e-c77f-7704-9a3d-5f83204c946b', 0, '01a1e20e-c09c-733d-a126-e97f5df4b3ea', 'requirement', 'REQ-001', 2, 'updated', '{"title":"Charge the card","version":1,"said_version":1,"updated_at":"2026-11-16T01:53:00.024750Z"}', '{"title":"Charge the card exactly once","version":2,"said_version":2,"updated_at":"2026-11-16T01:53:01.805846Z"}');
INSERT INTO public.revisions VALUES ('01a1e20e-c7d7-7722-a9f2-ccd46bd7e795', 0, '01a1e20e-c7d2-7b73-8419-0b76f979ebea', 'epic', 'EP-002', 1, 'created', NULL, '{"id":"01a1e20e-c7d2-7b73-8419-0b76f979ebea","kind":"epic","number":2,"reference_id":"EP-002","position":2.0,"title":"A mistake","description":"","status":"Backlog","priority":3,"creator_id":"01a1e20e-abfc-7597-985e-da3b391860c3","assignee_id":"01a1e20e-abfc-7597-985e-da3b391860c3","version":1,"said_version":1,"created_at":"2026-11-16T01:53:01.905552Z","updated_at":"2026-11-16T01:53:01.905552Z"}');
INSERT INTO public.revisions VALUES ('01a1e20e-c83a-7660-9d73-fd282c1ab18a', 0, '01a1e20e-c7d2-7b73-8419-0b76f979ebea', 'epic', 'EP-002', 1, 'deleted', '{"id":"01a1e20e-c7d2-7b73-8419-0b76f979ebea","kind":"epic","number":2,"reference_id":"EP-002","position":2.0,"title":"A mistake","description":"","status":"Backlog","priority":3,"creator_id":"01a1e20e-abfc-7597-985e-da3b391860c3","assignee_id":"01a1e20e-abfc-7597-985e-da3b391860c3","version":1,"said_version":1,"created_at":"2026-11-16T01:53:01.905552Z","updated_at":"2026-11-16T01:53:01.905552Z"}', NULL);
INSERT INTO public.revisions VALUES ('01a1e20e-ca22-7027-be01-4781c8e91a8d', 0, '01a1e20e-ca0e-7032-b383-3945b8177a15', 'epic', 'EP-003', 1, 'created', NULL, '{"id":"01a1e20e-ca0e-7032-b383-3945b8177a15","kind":"epic","number":3,"reference_id":"EP-003","position":2.0,"title":"Written by a run","description":"","status":"Backlog","priority":3,"creator_id":"01a1e20e-abfc-7597-985e-da3b391860c3","assignee_id":"01a1e20e-abfc-7597-985e-da3b391860c3","version":1,"said_version":1,"created_at":"2026-11-16T01:53:02.446530Z","updated_at":"2026-11-16T01:53:02.446530Z"}');

INSERT INTO public.run_history VALUES ('01a1e20e-c980-7c21-bf1f-8e6a288e82e0', 1, 2, '[{"type":"run_started","input":{"title":"Written by a run"},"depth":0,"at":1794793982.336743,"schema":1},{"type":"step_started","key":"write","frame":"/main","input":{"title":"Written by a run"},"choice":null,"items":null,"wake":null,"deadline":1794797582.3741796,"at":1794793982.3741796,"schema":1}]');
INSERT INTO public.run_history VALUES ('01a1e20e-c980-7c21-bf1f-8e6a288e82e0', 3, 2, '[{"type":"task_succeeded","task":"write","output":{"change_id":"01a1e20e-ca22-7027-be01-4781c8e91a8d","id":"01a1e20e-ca0e-7032-b383-3945b8177a15","reference_id":"EP-003","version":1,"created_at":"2026-11-16T01:53:02.446530Z","updated_at":"2026-11-16T01:53:02.446530Z","title":"Written by a run","description":"","status":"Backlog","priority":3,"creator":"admin","assignee":"admin","labels":[]},"data":null,"artifacts":null,"attempts":1,"size":343,"at":1794793982.6262214,"schema":1},{"type":"run_finished","status":"completed","output":"EP-003","error":null,"at":1794793982.6747873,"schema":1}]');
INSERT INTO public.run_history VALUES ('01a1e20e-cb77-751d-b4d7-f6183988bb54', 1, 2, '[{"type":"run_started","input":null,"depth":0,"at":1794793982.839272,"schema":1},{"type":"step_started","key":"ok","frame":"/main","input":null,"choice":null,"items":null,"wake":null,"deadline":null,"at":1794793982.9003973,"schema":1}]');
INSERT INTO public.run_history VALUES ('01a1e20e-cbd2-7fea-b7b5-6490b5d07dfd', 1, 2, '[{"type":"run_started","input":null,"depth":0,"at":1794793982.930981,"schema":1},{"type":"step_started","key":"nap","frame":"/main","input":null,"choice":null,"items":null,"wake":1794794003.0160115,"deadline":null,"at":1794793983.0160115,"schema":1}]');

INSERT INTO public.runs VALUES ('01a1e20e-c980-7c21-bf1f-8e6a288e82e0', 'note', 1, 13, 'completed', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'admin comment propose read run write', 'rest', NULL, NULL, '', 0, 'a4d0a973a492e1fdffa837dba72600c4', '00-a4d0a973a492e1fdffa837dba72600c4-637e423611934d10-01', '{"schema":1,"phase":"completed","applied":4,"ignored":0,"round":1,"depth":0,"input":{"title":"Written by a run"},"output":"EP-003","error":null,"started_at":1794793982.336743,"finished_at":1794793982.6747873,"paused":false,"ending":null,"steps":{"write":{"key":"write","name":"write","frame":"/main","status":"completed","started_at":1794793982.3741796,"finished_at":1794793982.6262214,"output":{"change_id":"01a1e20e-ca22-7027-be01-4781c8e91a8d","id":"01a1e20e-ca0e-7032-b383-3945b8177a15","reference_id":"EP-003","version":1,"created_at":"2026-11-16T01:53:02.446530Z","updated_at":"2026-11-16T01:53:02.446530Z","title":"Written by a run","description":"","status":"Backlog","priority":3,"creator":"admin","assignee":"admin","labels":[]},"attempts":1,"size":343}},"frames":{"/main":{"owner":"","label":"main","at":1,"status":"completed","last":"write"}},"agenda":[],"wakes":{},"deadlines":{},"signals":{},"signal_ids":{},"waiters":{},"busy":0,"idle":0,"bytes":343}', 4, NULL, 1794793982.336743, 1794793982.6747873);
INSERT INTO public.runs VALUES ('01a1e20e-cb77-751d-b4d7-f6183988bb54', 'decide', 1, 14, 'waiting', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'admin comment propose read run write', 'rest', NULL, NULL, '', 0, '71c58746ffe7b796c6759fb2eca1ed21', '00-71c58746ffe7b796c6759fb2eca1ed21-fe065ae5ac20b0e3-01', NULL, 0, NULL, 1794793982.839272, NULL);
INSERT INTO public.runs VALUES ('01a1e20e-cbd2-7fea-b7b5-6490b5d07dfd', 'nap', 1, 16, 'waiting', '01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', '01a1e20e-abfd-7452-baa7-3cbb29a71281', 'admin comment propose read run write', 'rest', NULL, NULL, '', 0, 'bcf4b32dbf5092853b27999b20ffe717', '00-bcf4b32dbf5092853b27999b20ffe717-0b74b6ebaac319c9-01', NULL, 0, 1794794003.0160115, 1794793982.930981, NULL);

INSERT INTO public.saved_views VALUES ('01a1e20e-c58d-7d6c-9dd6-a92c8dd8da00', '01a1e20e-abfc-7597-985e-da3b391860c3', 'Mine', '{}', '', 0, '2026-11-16T01:53:01.303864Z', '2026-11-16T01:53:01.303864Z');

INSERT INTO public.search_entries OVERRIDING SYSTEM VALUE VALUES (1, '01a1e20e-be07-703b-927d-e82464e19be1', '01a1e20e-be07-703b-927d-e82464e19be1', ' the till takes money ', '=d6e56c7642e3d552e4 =4c7740a9edc806881b =01de8b19da4797144f =ec0eef58a6810fd776 =4c512d544f3f24d4de', ' ep1 customers pay at the till cash card voucher ', '''=01de8b19da4797144f'' ''=4c512d544f3f24d4de'' ''=4c7740a9edc806881b'' ''=d6e56c7642e3d552e4'' ''=ec0eef58a6810fd776'' ''at'' ''card'' ''cash'' ''customers'' ''ep1'' ''money'' ''pay'' ''takes'' ''the'' ''till'' ''voucher''');
INSERT INTO public.search_entries OVERRIDING SYSTEM VALUE VALUES (2, '01a1e20e-bf26-7e70-b78f-43e426a262b9', '01a1e20e-bf26-7e70-b78f-43e426a262b9', ' pay by card ', '=50b80ce7d6cd7e7636 =4c7740a9edc806881b =01de8b19da4797144f =ec0eef58a6810fd776 =4c512d544f3f24d4de', ' us1 as a customer i want to pay by card so that i need no cash ', '''=01de8b19da4797144f'' ''=4c512d544f3f24d4de'' ''=4c7740a9edc806881b'' ''=50b80ce7d6cd7e7636'' ''=ec0eef58a6810fd776'' ''a'' ''as'' ''by'' ''card'' ''cash'' ''customer'' ''i'' ''need'' ''no'' ''pay'' ''so'' ''that'' ''to'' ''us1'' ''want''');
INSERT INTO public.search_entries OVERRIDING SYSTEM VALUE VALUES (3, '01a1e20e-bfc7-743a-8fd5-cb23b86ef8e9', '01a1e20e-bfc7-743a-8fd5-cb23b86ef8e9', '', '=76686e4379b8aff32e =4c512d544f3f24d4de', ' ac1 when a card is declined the till shall say so within two seconds ', '''=4c512d544f3f24d4de'' ''=76686e4379b8aff32e'' ''a'' ''ac1'' ''card'' ''declined'' ''is'' ''say'' ''seconds'' ''shall'' ''so'' ''the'' ''till'' ''two'' ''when'' ''within''');
INSERT INTO public.search_entries OVERRIDING SYSTEM VALUE VALUES (5, '01a1e20e-c140-74b2-8c47-fdb161014152', '01a1e20e-c140-74b2-8c47-fdb161014152', ' refund a uberweisung ', '=05d4694e0f7f0c5424 =c73566e2a3df94f9f1 =01de8b19da4797144f =9c8d8266f8bcfe01c1 =ec0eef58a6810fd776 =4c512d544f3f24d4de', ' req2 the till shall refund what was charged naively put give it back ', '''=01de8b19da4797144f'' ''=05d4694e0f7f0c5424'' ''=4c512d544f3f24d4de'' ''=9c8d8266f8bcfe01c1'' ''=c73566e2a3df94f9f1'' ''=ec0eef58a6810fd776'' ''a'' ''back'' ''charged'' ''give'' ''it'' ''naively'' ''put'' ''refund'' ''req2'' ''shall'' ''the'' ''till'' ''uberweisung'' ''was'' ''what''');
INSERT INTO public.search_entries OVERRIDING SYSTEM VALUE VALUES (7, '01a1e20e-c428-7d80-b2e0-90bb24b99b30', '01a1e20e-c09c-733d-a126-e97f5df4b3ea', '', '=92c8cbf02eb7974a7d =4c512d544f3f24d4de', ' what about vouchers ', '''=4c512d544f3f24d4de'' ''=92c8cbf02eb7974a7d'' ''about'' ''vouchers'' ''what''');
INSERT INTO public.search_entries OVERRIDING SYSTEM VALUE VALUES (8, '01a1e20e-c4f1-7a90-980f-04e3310bf075', '01a1e20e-c4f1-7a90-980f-04e3310bf075', ' security ', '=5d3fe7f34f205c413e', ' std1 no card numbers in logs ', '''=5d3fe7f34f205c413e'' ''card'' ''in'' ''logs'' ''no'' ''numbers'' ''security'' ''std1''');
INSERT INTO public.search_entries OVERRIDING SYSTEM VALUE VALUES (9, '01a1e20e-c09c-733d-a126-e97f5df4b3ea', '01a1e20e-c09c-733d-a126-e97f5df4b3ea', ' charge the card exactly once ', '=05d4694e0f7f0c5424 =c73566e2a3df94f9f1 =01de8b19da4797144f =9c8d8266f8bcfe01c1 =ec0eef58a6810fd776 =4c512d544f3f24d4de =49ef52fe1bc83b62ec', ' req1 the till shall charge the card once ', '''=01de8b19da4797144f'' ''=05d4694e0f7f0c5424'' ''=49ef52fe1bc83b62ec'' ''=4c512d544f3f24d4de'' ''=9c8d8266f8bcfe01c1'' ''=c73566e2a3df94f9f1'' ''=ec0eef58a6810fd776'' ''card'' ''charge'' ''exactly'' ''once'' ''req1'' ''shall'' ''the'' ''till''');
INSERT INTO public.search_entries OVERRIDING SYSTEM VALUE VALUES (11, '01a1e20e-ca0e-7032-b383-3945b8177a15', '01a1e20e-ca0e-7032-b383-3945b8177a15', ' written by a run ', '=d6e56c7642e3d552e4 =4c7740a9edc806881b =01de8b19da4797144f =ec0eef58a6810fd776 =ee5f11f5354300cb2b', ' ep3 ', '''=01de8b19da4797144f'' ''=4c7740a9edc806881b'' ''=d6e56c7642e3d552e4'' ''=ec0eef58a6810fd776'' ''=ee5f11f5354300cb2b'' ''a'' ''by'' ''ep3'' ''run'' ''written''');

INSERT INTO public.search_spellings VALUES ('till', 'till');
INSERT INTO public.search_spellings VALUES ('til', 'till');
INSERT INTO public.search_spellings VALUES ('tll', 'till');
INSERT INTO public.search_spellings VALUES ('ill', 'till');
INSERT INTO public.search_spellings VALUES ('takes', 'takes');
INSERT INTO public.search_spellings VALUES ('take', 'takes');
INSERT INTO public.search_spellings VALUES ('taks', 'takes');
INSERT INTO public.search_spellings VALUES ('taes', 'takes');
INSERT INTO public.search_spellings VALUES ('tkes', 'takes');
INSERT INTO public.search_spellings VALUES ('akes', 'takes');
INSERT INTO public.search_spellings VALUES ('money', 'money');
INSERT INTO public.search_spellings VALUES ('mone', 'money');
INSERT INTO public.search_spellings VALUES ('mony', 'money');
INSERT INTO public.search_spellings VALUES ('moey', 'money');
INSERT INTO public.search_spellings VALUES ('mney', 'money');
INSERT INTO public.search_spellings VALUES ('oney', 'money');
INSERT INTO public.search_spellings VALUES ('custome', 'customers');
INSERT INTO public.search_spellings VALUES ('custom', 'customers');
INSERT INTO public.search_spellings VALUES ('custoe', 'customers');
INSERT INTO public.search_spellings VALUES ('custme', 'customers');
INSERT INTO public.search_spellings VALUES ('cusome', 'customers');
INSERT INTO public.search_spellings VALUES ('cutome', 'customers');
INSERT INTO public.search_spellings VALUES ('cstome', 'customers');
INSERT INTO public.search_spellings VALUES ('ustome', 'customers');
INSERT INTO public.search_spellings VALUES ('cash', 'cash');
INSERT INTO public.search_spellings VALUES ('cas', 'cash');
INSERT INTO public.search_spellings VALUES ('cah', 'cash');
INSERT INTO public.search_spellings VALUES ('csh', 'cash');
INSERT INTO public.search_spellings VALUES ('ash', 'cash');
INSERT INTO public.search_spellings VALUES ('card', 'card');
INSERT INTO public.search_spellings VALUES ('car', 'card');
INSERT INTO public.search_spellings VALUES ('cad', 'card');
INSERT INTO public.search_spellings VALUES ('crd', 'card');
INSERT INTO public.search_spellings VALUES ('ard', 'card');
INSERT INTO public.search_spellings VALUES ('voucher', 'voucher');
INSERT INTO public.search_spellings VALUES ('vouche', 'voucher');
INSERT INTO public.search_spellings VALUES ('vouchr', 'voucher');
INSERT INTO public.search_spellings VALUES ('voucer', 'voucher');
INSERT INTO public.search_spellings VALUES ('vouher', 'voucher');
INSERT INTO public.search_spellings VALUES ('vocher', 'voucher');
INSERT INTO public.search_spellings VALUES ('vucher', 'voucher');
INSERT INTO public.search_spellings VALUES ('oucher', 'voucher');
INSERT INTO public.search_spellings VALUES ('custome', 'customer');
INSERT INTO public.search_spellings VALUES ('custom', 'customer');
INSERT INTO public.search_spellings VALUES ('custoe', 'customer');
INSERT INTO public.search_spellings VALUES ('custme', 'customer');
INSERT INTO public.search_spellings VALUES ('cusome', 'customer');
INSERT INTO public.search_spellings VALUES ('cutome', 'customer');
INSERT INTO public.search_spellings VALUES ('cstome', 'customer');
INSERT INTO public.search_spellings VALUES ('ustome', 'customer');
INSERT INTO public.search_spellings VALUES ('want', 'want');
INSERT INTO public.search_spellings VALUES ('wan', 'want');
INSERT INTO public.search_spellings VALUES ('wat', 'want');
INSERT INTO public.search_spellings VALUES ('wnt', 'want');
INSERT INTO public.search_spellings VALUES ('ant', 'want');
INSERT INTO public.search_spellings VALUES ('that', 'that');
INSERT INTO public.search_spellings VALUES ('tha', 'that');
INSERT INTO public.search_spellings VALUES ('tht', 'that');
INSERT INTO public.search_spellings VALUES ('tat', 'that');
INSERT INTO public.search_spellings VALUES ('hat', 'that');
INSERT INTO public.search_spellings VALUES ('need', 'need');
INSERT INTO public.search_spellings VALUES ('nee', 'need');
INSERT INTO public.search_spellings VALUES ('ned', 'need');
INSERT INTO public.search_spellings VALUES ('eed', 'need');
INSERT INTO public.search_spellings VALUES ('when', 'when');
INSERT INTO public.search_spellings VALUES ('whe', 'when');
INSERT INTO public.search_spellings VALUES ('whn', 'when');
INSERT INTO public.search_spellings VALUES ('wen', 'when');
INSERT INTO public.search_spellings VALUES ('hen', 'when');
INSERT INTO public.search_spellings VALUES ('decline', 'declined');
INSERT INTO public.search_spellings VALUES ('declin', 'declined');
INSERT INTO public.search_spellings VALUES ('declie', 'declined');
INSERT INTO public.search_spellings VALUES ('declne', 'declined');
INSERT INTO public.search_spellings VALUES ('decine', 'declined');
INSERT INTO public.search_spellings VALUES ('deline', 'declined');
INSERT INTO public.search_spellings VALUES ('dcline', 'declined');
INSERT INTO public.search_spellings VALUES ('ecline', 'declined');
INSERT INTO public.search_spellings VALUES ('shall', 'shall');
INSERT INTO public.search_spellings VALUES ('shal', 'shall');
INSERT INTO public.search_spellings VALUES ('shll', 'shall');
INSERT INTO public.search_spellings VALUES ('sall', 'shall');
INSERT INTO public.search_spellings VALUES ('hall', 'shall');
INSERT INTO public.search_spellings VALUES ('within', 'within');
INSERT INTO public.search_spellings VALUES ('withi', 'within');
INSERT INTO public.search_spellings VALUES ('withn', 'within');
INSERT INTO public.search_spellings VALUES ('witin', 'within');
INSERT INTO public.search_spellings VALUES ('wihin', 'within');
INSERT INTO public.search_spellings VALUES ('wthin', 'within');
INSERT INTO public.search_spellings VALUES ('ithin', 'within');
INSERT INTO public.search_spellings VALUES ('seconds', 'seconds');
INSERT INTO public.search_spellings VALUES ('second', 'seconds');
INSERT INTO public.search_spellings VALUES ('secons', 'seconds');
INSERT INTO public.search_spellings VALUES ('secods', 'seconds');
INSERT INTO public.search_spellings VALUES ('secnds', 'seconds');
INSERT INTO public.search_spellings VALUES ('seonds', 'seconds');
INSERT INTO public.search_spellings VALUES ('sconds', 'seconds');
INSERT INTO public.search_spellings VALUES ('econds', 'seconds');
INSERT INTO public.search_spellings VALUES ('charge', 'charge');
INSERT INTO public.search_spellings VALUES ('charg', 'charge');
INSERT INTO public.search_spellings VALUES ('chare', 'charge');
INSERT INTO public.search_spellings VALUES ('chage', 'charge');
INSERT INTO public.search_spellings VALUES ('chrge', 'charge');
INSERT INTO public.search_spellings VALUES ('carge', 'charge');
INSERT INTO public.search_spellings VALUES ('harge', 'charge');
INSERT INTO public.search_spellings VALUES ('once', 'once');
INSERT INTO public.search_spellings VALUES ('onc', 'once');
INSERT INTO public.search_spellings VALUES ('one', 'once');
INSERT INTO public.search_spellings VALUES ('oce', 'once');
INSERT INTO public.search_spellings VALUES ('nce', 'once');
INSERT INTO public.search_spellings VALUES ('refund', 'refund');
INSERT INTO public.search_spellings VALUES ('refun', 'refund');
INSERT INTO public.search_spellings VALUES ('refud', 'refund');
INSERT INTO public.search_spellings VALUES ('refnd', 'refund');
INSERT INTO public.search_spellings VALUES ('reund', 'refund');
INSERT INTO public.search_spellings VALUES ('rfund', 'refund');
INSERT INTO public.search_spellings VALUES ('efund', 'refund');
INSERT INTO public.search_spellings VALUES ('uberwei', 'uberweisung');
INSERT INTO public.search_spellings VALUES ('uberwe', 'uberweisung');
INSERT INTO public.search_spellings VALUES ('uberwi', 'uberweisung');
INSERT INTO public.search_spellings VALUES ('uberei', 'uberweisung');
INSERT INTO public.search_spellings VALUES ('ubewei', 'uberweisung');
INSERT INTO public.search_spellings VALUES ('ubrwei', 'uberweisung');
INSERT INTO public.search_spellings VALUES ('uerwei', 'uberweisung');
INSERT INTO public.search_spellings VALUES ('berwei', 'uberweisung');
INSERT INTO public.search_spellings VALUES ('what', 'what');
INSERT INTO public.search_spellings VALUES ('wha', 'what');
INSERT INTO public.search_spellings VALUES ('wht', 'what');
INSERT INTO public.search_spellings VALUES ('wat', 'what');
INSERT INTO public.search_spellings VALUES ('hat', 'what');
INSERT INTO public.search_spellings VALUES ('charged', 'charged');
INSERT INTO public.search_spellings VALUES ('charge', 'charged');
INSERT INTO public.search_spellings VALUES ('chargd', 'charged');
INSERT INTO public.search_spellings VALUES ('chared', 'charged');
INSERT INTO public.search_spellings VALUES ('chaged', 'charged');
INSERT INTO public.search_spellings VALUES ('chrged', 'charged');
INSERT INTO public.search_spellings VALUES ('carged', 'charged');
INSERT INTO public.search_spellings VALUES ('harged', 'charged');
INSERT INTO public.search_spellings VALUES ('naively', 'naively');
INSERT INTO public.search_spellings VALUES ('naivel', 'naively');
INSERT INTO public.search_spellings VALUES ('naivey', 'naively');
INSERT INTO public.search_spellings VALUES ('naivly', 'naively');
INSERT INTO public.search_spellings VALUES ('naiely', 'naively');
INSERT INTO public.search_spellings VALUES ('navely', 'naively');
INSERT INTO public.search_spellings VALUES ('nively', 'naively');
INSERT INTO public.search_spellings VALUES ('aively', 'naively');
INSERT INTO public.search_spellings VALUES ('give', 'give');
INSERT INTO public.search_spellings VALUES ('giv', 'give');
INSERT INTO public.search_spellings VALUES ('gie', 'give');
INSERT INTO public.search_spellings VALUES ('gve', 'give');
INSERT INTO public.search_spellings VALUES ('ive', 'give');
INSERT INTO public.search_spellings VALUES ('back', 'back');
INSERT INTO public.search_spellings VALUES ('bac', 'back');
INSERT INTO public.search_spellings VALUES ('bak', 'back');
INSERT INTO public.search_spellings VALUES ('bck', 'back');
INSERT INTO public.search_spellings VALUES ('ack', 'back');
INSERT INTO public.search_spellings VALUES ('about', 'about');
INSERT INTO public.search_spellings VALUES ('abou', 'about');
INSERT INTO public.search_spellings VALUES ('abot', 'about');
INSERT INTO public.search_spellings VALUES ('abut', 'about');
INSERT INTO public.search_spellings VALUES ('aout', 'about');
INSERT INTO public.search_spellings VALUES ('bout', 'about');
INSERT INTO public.search_spellings VALUES ('voucher', 'vouchers');
INSERT INTO public.search_spellings VALUES ('vouche', 'vouchers');
INSERT INTO public.search_spellings VALUES ('vouchr', 'vouchers');
INSERT INTO public.search_spellings VALUES ('voucer', 'vouchers');
INSERT INTO public.search_spellings VALUES ('vouher', 'vouchers');
INSERT INTO public.search_spellings VALUES ('vocher', 'vouchers');
INSERT INTO public.search_spellings VALUES ('vucher', 'vouchers');
INSERT INTO public.search_spellings VALUES ('oucher', 'vouchers');
INSERT INTO public.search_spellings VALUES ('securit', 'security');
INSERT INTO public.search_spellings VALUES ('securi', 'security');
INSERT INTO public.search_spellings VALUES ('securt', 'security');
INSERT INTO public.search_spellings VALUES ('secuit', 'security');
INSERT INTO public.search_spellings VALUES ('secrit', 'security');
INSERT INTO public.search_spellings VALUES ('seurit', 'security');
INSERT INTO public.search_spellings VALUES ('scurit', 'security');
INSERT INTO public.search_spellings VALUES ('ecurit', 'security');
INSERT INTO public.search_spellings VALUES ('numbers', 'numbers');
INSERT INTO public.search_spellings VALUES ('number', 'numbers');
INSERT INTO public.search_spellings VALUES ('numbes', 'numbers');
INSERT INTO public.search_spellings VALUES ('numbrs', 'numbers');
INSERT INTO public.search_spellings VALUES ('numers', 'numbers');
INSERT INTO public.search_spellings VALUES ('nubers', 'numbers');
INSERT INTO public.search_spellings VALUES ('nmbers', 'numbers');
INSERT INTO public.search_spellings VALUES ('umbers', 'numbers');
INSERT INTO public.search_spellings VALUES ('logs', 'logs');
INSERT INTO public.search_spellings VALUES ('log', 'logs');
INSERT INTO public.search_spellings VALUES ('los', 'logs');
INSERT INTO public.search_spellings VALUES ('lgs', 'logs');
INSERT INTO public.search_spellings VALUES ('ogs', 'logs');
INSERT INTO public.search_spellings VALUES ('exactly', 'exactly');
INSERT INTO public.search_spellings VALUES ('exactl', 'exactly');
INSERT INTO public.search_spellings VALUES ('exacty', 'exactly');
INSERT INTO public.search_spellings VALUES ('exacly', 'exactly');
INSERT INTO public.search_spellings VALUES ('exatly', 'exactly');
INSERT INTO public.search_spellings VALUES ('exctly', 'exactly');
INSERT INTO public.search_spellings VALUES ('eactly', 'exactly');
INSERT INTO public.search_spellings VALUES ('xactly', 'exactly');
INSERT INTO public.search_spellings VALUES ('mistake', 'mistake');
INSERT INTO public.search_spellings VALUES ('mistak', 'mistake');
INSERT INTO public.search_spellings VALUES ('mistae', 'mistake');
INSERT INTO public.search_spellings VALUES ('mistke', 'mistake');
INSERT INTO public.search_spellings VALUES ('misake', 'mistake');
INSERT INTO public.search_spellings VALUES ('mitake', 'mistake');
INSERT INTO public.search_spellings VALUES ('mstake', 'mistake');
INSERT INTO public.search_spellings VALUES ('istake', 'mistake');
INSERT INTO public.search_spellings VALUES ('written', 'written');
INSERT INTO public.search_spellings VALUES ('writte', 'written');
INSERT INTO public.search_spellings VALUES ('writtn', 'written');
INSERT INTO public.search_spellings VALUES ('writen', 'written');
INSERT INTO public.search_spellings VALUES ('wrtten', 'written');
INSERT INTO public.search_spellings VALUES ('witten', 'written');
INSERT INTO public.search_spellings VALUES ('ritten', 'written');

INSERT INTO public.search_words VALUES ('till');
INSERT INTO public.search_words VALUES ('takes');
INSERT INTO public.search_words VALUES ('money');
INSERT INTO public.search_words VALUES ('customers');
INSERT INTO public.search_words VALUES ('cash');
INSERT INTO public.search_words VALUES ('card');
INSERT INTO public.search_words VALUES ('voucher');
INSERT INTO public.search_words VALUES ('customer');
INSERT INTO public.search_words VALUES ('want');
INSERT INTO public.search_words VALUES ('that');
INSERT INTO public.search_words VALUES ('need');
INSERT INTO public.search_words VALUES ('when');
INSERT INTO public.search_words VALUES ('declined');
INSERT INTO public.search_words VALUES ('shall');
INSERT INTO public.search_words VALUES ('within');
INSERT INTO public.search_words VALUES ('seconds');
INSERT INTO public.search_words VALUES ('charge');
INSERT INTO public.search_words VALUES ('once');
INSERT INTO public.search_words VALUES ('refund');
INSERT INTO public.search_words VALUES ('uberweisung');
INSERT INTO public.search_words VALUES ('what');
INSERT INTO public.search_words VALUES ('charged');
INSERT INTO public.search_words VALUES ('naively');
INSERT INTO public.search_words VALUES ('give');
INSERT INTO public.search_words VALUES ('back');
INSERT INTO public.search_words VALUES ('about');
INSERT INTO public.search_words VALUES ('vouchers');
INSERT INTO public.search_words VALUES ('security');
INSERT INTO public.search_words VALUES ('numbers');
INSERT INTO public.search_words VALUES ('logs');
INSERT INTO public.search_words VALUES ('exactly');
INSERT INTO public.search_words VALUES ('mistake');
INSERT INTO public.search_words VALUES ('written');

INSERT INTO public.settings VALUES ('server_key_fingerprint', 'c9a2dac4ed3bc3dc');
INSERT INTO public.settings VALUES ('first_run', '2026-11-16T01:52:54.779708Z');
INSERT INTO public.settings VALUES ('audit_head', '{"sequence":33,"hash":"2fa4ba5e597785330b7d1f79ec078ff422458a0a5d03d2d52d917dce30f76c33","mac":"7560290609013aa96573c3c12f8be8ac9ca2d54606cae3536ed3ec763b03e6cd"}');

INSERT INTO public.shards VALUES (0, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (1, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (2, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (3, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (4, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (5, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (6, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (7, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (8, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (9, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (10, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (11, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (12, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (13, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (14, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (15, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (16, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (17, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (18, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (19, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (20, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (21, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (22, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (23, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (24, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (25, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (26, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (27, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (28, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (29, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (30, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);
INSERT INTO public.shards VALUES (31, 'fb6072ea-1aa2-4cba-b67f-2fa91cebbd98', 1);

INSERT INTO public.tasks VALUES ('01a1e20e-c980-7c21-bf1f-8e6a288e82e0/write', '01a1e20e-c980-7c21-bf1f-8e6a288e82e0', 'write', 'operation', 'create_epic', '{"type":"call_operation","task":"write","schema":1,"step":"write","input":{"title":"Written by a run"},"retry":null,"deadline":1794797582.3741796,"operation":"create_epic"}', 'done', 0, NULL, 1, 1, 1, 0, '', '', NULL, 0, 'success', '00-a4d0a973a492e1fdffa837dba72600c4-637e423611934d10-01', 'a4d0a973a492e1fdffa837dba72600c4', 1794793982.3741796, 1794793982.6262214);

INSERT INTO public.tokens VALUES ('01a1e20e-abfd-7452-baa7-3cbb29a71281', '01a1e20e-abfc-7597-985e-da3b391860c3', 'first run', 'accord_pat_It87', 'yYfS', 'd9a8cc37eb58a959c8c5d6c1bf3e74dd3f5300e351370997dc6a2ead32e6c7d9', 'read comment write propose run admin', '2026-11-16T01:52:54.779708Z', '2999-01-01T00:00:00.000000Z', '2026-11-16T01:52:59.350276Z', NULL);
INSERT INTO public.tokens VALUES ('01a1e20e-f38d-747e-97c9-f0aca84c5dea', '01a1e20e-dcb0-7858-99cf-9e2d4696051c', 'laptop', 'accord_pat_C59q', 'zYQk', '5201c403e64595ec10da975bd1e2f7f79ccdf390c4469a943bcc5833224afe38', 'read comment write propose run', '2026-11-16T01:53:13.092739Z', '2999-01-01T00:00:00.000000Z', NULL, NULL);

INSERT INTO public.users VALUES ('01a1e20e-abfc-7597-985e-da3b391860c3', 'admin', 'admin', '', 'Administrator', '$argon2id$v=19$m=19456,t=2,p=1$TQh6nfdxnaQDjvbOoiKOdw$KYX2DpnkCSCfWNvdzWsR4bJ6AxFLjOp5sH57k3EaaZA', 1, 1, 1, '2026-11-16T01:52:54.779708Z', '2026-11-16T01:52:54.779708Z');
INSERT INTO public.users VALUES ('01a1e20e-dcb0-7858-99cf-9e2d4696051c', 'nina', 'nina', '', 'User', '', 0, 1, 1, '2026-11-16T01:53:07.233530Z', '2026-11-16T01:53:07.233530Z');

INSERT INTO public.workflows VALUES ('note', 1, '', '{"name":"note","version":1,"steps":[{"type":"call","operation":"create_epic","input":{"title":"${input.title}"},"name":"write"}],"output":"${steps.write.output.reference_id}"}', 1, '01a1e20e-abfc-7597-985e-da3b391860c3', '2026-11-16T01:53:02.094826Z');
INSERT INTO public.workflows VALUES ('nap', 1, '', '{"name":"nap","version":1,"steps":[{"type":"wait","for":20.0,"name":"nap"}],"output":"${''slept well''}"}', 1, '01a1e20e-abfc-7597-985e-da3b391860c3', '2026-11-16T01:53:02.245272Z');
INSERT INTO public.workflows VALUES ('decide', 1, '', '{"name":"decide","version":1,"steps":[{"type":"wait","approval":{"by":["admin"]},"name":"ok"},{"type":"call","operation":"create_epic","input":{"title":"Decided by ${steps.ok.output.by}"},"name":"write"}],"output":"${steps.write.output.reference_id}"}', 1, '01a1e20e-abfc-7597-985e-da3b391860c3', '2026-11-16T01:53:02.298937Z');

SELECT pg_catalog.setval('public.outbox_id_seq', 1, false);

SELECT pg_catalog.setval('public.run_inbox_id_seq', 4, true);

SELECT pg_catalog.setval('public.search_entries_sequence_seq', 11, true);

ALTER TABLE ONLY public.accord_migrations
    ADD CONSTRAINT accord_migrations_pkey PRIMARY KEY (part, number);

ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_name_key UNIQUE (name);

ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_pkey PRIMARY KEY (run_id, task);

ALTER TABLE ONLY public.audit_pending
    ADD CONSTRAINT audit_pending_pkey PRIMARY KEY (record_id);

ALTER TABLE ONLY public.audit_records
    ADD CONSTRAINT audit_records_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.audit_seals
    ADD CONSTRAINT audit_seals_pkey PRIMARY KEY (sequence);

ALTER TABLE ONLY public.audit_seals
    ADD CONSTRAINT audit_seals_record_id_key UNIQUE (record_id);

ALTER TABLE ONLY public.baseline_entries
    ADD CONSTRAINT baseline_entries_pkey PRIMARY KEY (baseline_id, place);

ALTER TABLE ONLY public.baselines
    ADD CONSTRAINT baselines_name_key_key UNIQUE (name_key);

ALTER TABLE ONLY public.baselines
    ADD CONSTRAINT baselines_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_sequence_key UNIQUE (sequence);

ALTER TABLE ONLY public.comments
    ADD CONSTRAINT comments_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.counters
    ADD CONSTRAINT counters_pkey PRIMARY KEY (kind);

ALTER TABLE ONLY public.dead_letters
    ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (user_id, key);

ALTER TABLE ONLY public.item_labels
    ADD CONSTRAINT item_labels_pkey PRIMARY KEY (item_id, label_id);

ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_kind_number_key UNIQUE (kind, number);

ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_reference_id_key UNIQUE (reference_id);

ALTER TABLE ONLY public.labels
    ADD CONSTRAINT labels_name_key_key UNIQUE (name_key);

ALTER TABLE ONLY public.labels
    ADD CONSTRAINT labels_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.lint_suppressions
    ADD CONSTRAINT lint_suppressions_pkey PRIMARY KEY (item_id, rule);

ALTER TABLE ONLY public.login_sessions
    ADD CONSTRAINT login_sessions_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.proposals
    ADD CONSTRAINT proposals_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.rate_buckets
    ADD CONSTRAINT rate_buckets_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.relationship_types
    ADD CONSTRAINT relationship_types_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.relationships
    ADD CONSTRAINT relationships_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.relationships
    ADD CONSTRAINT relationships_source_id_target_id_type_key UNIQUE (source_id, target_id, type);

ALTER TABLE ONLY public.requirement_types
    ADD CONSTRAINT requirement_types_name_key_key UNIQUE (name_key);

ALTER TABLE ONLY public.requirement_types
    ADD CONSTRAINT requirement_types_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.revisions
    ADD CONSTRAINT revisions_pkey PRIMARY KEY (change_id, place);

ALTER TABLE ONLY public.run_history
    ADD CONSTRAINT run_history_pkey PRIMARY KEY (run_id, sequence);

ALTER TABLE ONLY public.run_inbox
    ADD CONSTRAINT run_inbox_message_id_key UNIQUE (message_id);

ALTER TABLE ONLY public.run_inbox
    ADD CONSTRAINT run_inbox_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.saved_views
    ADD CONSTRAINT saved_views_owner_id_name_key UNIQUE (owner_id, name);

ALTER TABLE ONLY public.saved_views
    ADD CONSTRAINT saved_views_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.search_entries
    ADD CONSTRAINT search_entries_entity_id_key UNIQUE (entity_id);

ALTER TABLE ONLY public.search_entries
    ADD CONSTRAINT search_entries_pkey PRIMARY KEY (sequence);

ALTER TABLE ONLY public.search_spellings
    ADD CONSTRAINT search_spellings_pkey PRIMARY KEY (key, word);

ALTER TABLE ONLY public.search_words
    ADD CONSTRAINT search_words_pkey PRIMARY KEY (word);

ALTER TABLE ONLY public.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.shards
    ADD CONSTRAINT shards_pkey PRIMARY KEY (shard);

ALTER TABLE ONLY public.steering_links
    ADD CONSTRAINT steering_links_pkey PRIMARY KEY (steering_id, epic_id);

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_hash_key UNIQUE (hash);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.triggers
    ADD CONSTRAINT triggers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_username_key_key UNIQUE (username_key);

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (trigger_id, key);

ALTER TABLE ONLY public.workflows
    ADD CONSTRAINT workflows_pkey PRIMARY KEY (name, version);

CREATE INDEX approvals_open ON public.approvals USING btree (created_at) WHERE (state = 'open'::text);

CREATE INDEX audit_records_by_time ON public.audit_records USING btree ("time", id);

CREATE INDEX changes_by_actor ON public.changes USING btree (actor_id, sequence);

CREATE UNIQUE INDEX changes_of_proposal ON public.changes USING btree (proposal_id) WHERE (proposal_id IS NOT NULL);

CREATE UNIQUE INDEX changes_undone_once ON public.changes USING btree (undoes) WHERE (undoes IS NOT NULL);

CREATE INDEX comments_on ON public.comments USING btree (target_id, created_at);

CREATE INDEX dead_letters_by_time ON public.dead_letters USING btree (created_at, id);

CREATE INDEX idempotency_by_age ON public.idempotency USING btree (created_at);

CREATE INDEX item_labels_of ON public.item_labels USING btree (label_id);

CREATE UNIQUE INDEX items_active_prompt ON public.items USING btree (active) WHERE (active = 1);

CREATE INDEX items_by_assignee ON public.items USING btree (assignee_id, kind);

CREATE INDEX items_by_status ON public.items USING btree (kind, status, number);

CREATE INDEX items_by_update ON public.items USING btree (kind, updated_at, number);

CREATE INDEX items_children ON public.items USING btree (parent_id, kind, "position");

CREATE INDEX items_of_criteria ON public.items USING btree (criteria_id);

CREATE UNIQUE INDEX items_prompt_name ON public.items USING btree (lower(name)) WHERE (name IS NOT NULL);

CREATE INDEX items_that_said_more ON public.items USING btree (said_version, id) WHERE (said_version > 1);

CREATE INDEX login_sessions_of ON public.login_sessions USING btree (user_id);

CREATE INDEX outbox_unpublished ON public.outbox USING btree (id) WHERE (published_at IS NULL);

CREATE INDEX proposals_by_state ON public.proposals USING btree (state, created_at);

CREATE INDEX rate_buckets_by_time ON public.rate_buckets USING btree (full_at);

CREATE INDEX relationships_by_age ON public.relationships USING btree (created_at, id);

CREATE INDEX relationships_to ON public.relationships USING btree (target_id, type);

CREATE INDEX revisions_by_reference ON public.revisions USING btree (reference_id);

CREATE INDEX revisions_of ON public.revisions USING btree (entity_id, version);

CREATE INDEX runs_by_status ON public.runs USING btree (status, created_at, id);

CREATE INDEX runs_by_time ON public.runs USING btree (created_at, id);

CREATE INDEX runs_by_workflow ON public.runs USING btree (workflow, created_at, id);

CREATE INDEX runs_due ON public.runs USING btree (shard, next_timer) WHERE (next_timer IS NOT NULL);

CREATE INDEX runs_finished ON public.runs USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX runs_of_parent ON public.runs USING btree (parent_run) WHERE (parent_run IS NOT NULL);

CREATE INDEX search_entries_of ON public.search_entries USING btree (item_id);

CREATE INDEX search_entries_terms ON public.search_entries USING gin (terms) WITH (fastupdate=off);

CREATE INDEX steering_links_of_epic ON public.steering_links USING btree (epic_id);

CREATE INDEX tasks_of_run ON public.tasks USING btree (run_id);

CREATE INDEX tasks_owned ON public.tasks USING btree (owner) WHERE (state = 'running'::text);

CREATE INDEX tasks_published ON public.tasks USING btree (created_at) WHERE (state = 'published'::text);

CREATE INDEX tasks_ready ON public.tasks USING btree (created_at) WHERE (state = 'ready'::text);

CREATE UNIQUE INDEX tokens_by_name ON public.tokens USING btree (user_id, name) WHERE (revoked_at IS NULL);

CREATE INDEX tokens_of ON public.tokens USING btree (user_id, created_at);

CREATE INDEX triggers_by_name ON public.triggers USING btree (kind, name);

CREATE INDEX triggers_due ON public.triggers USING btree (next_at) WHERE (next_at IS NOT NULL);

CREATE INDEX triggers_of_workflow ON public.triggers USING btree (workflow);

CREATE UNIQUE INDEX triggers_webhooks ON public.triggers USING btree (name) WHERE (kind = 'webhook'::text);

CREATE INDEX webhook_deliveries_by_time ON public.webhook_deliveries USING btree (created_at);

CREATE TRIGGER audit_records_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.audit_records FOR EACH STATEMENT EXECUTE FUNCTION public.accord_append_only();

CREATE TRIGGER audit_records_pending AFTER INSERT ON public.audit_records FOR EACH ROW EXECUTE FUNCTION public.accord_audit_pending();

CREATE TRIGGER audit_seals_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.audit_seals FOR EACH STATEMENT EXECUTE FUNCTION public.accord_append_only();

CREATE TRIGGER baseline_entries_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON public.baseline_entries FOR EACH STATEMENT EXECUTE FUNCTION public.accord_baseline_kept();

CREATE TRIGGER baselines_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON public.baselines FOR EACH STATEMENT EXECUTE FUNCTION public.accord_baseline_kept();

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.runs(id);

ALTER TABLE ONLY public.baseline_entries
    ADD CONSTRAINT baseline_entries_baseline_id_fkey FOREIGN KEY (baseline_id) REFERENCES public.baselines(id);

ALTER TABLE ONLY public.baselines
    ADD CONSTRAINT baselines_author_id_fkey FOREIGN KEY (author_id) REFERENCES public.users(id);

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_proposal_id_fkey FOREIGN KEY (proposal_id) REFERENCES public.proposals(id);

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_undoes_fkey FOREIGN KEY (undoes) REFERENCES public.changes(id);

ALTER TABLE ONLY public.comments
    ADD CONSTRAINT comments_author_id_fkey FOREIGN KEY (author_id) REFERENCES public.users(id);

ALTER TABLE ONLY public.comments
    ADD CONSTRAINT comments_reply_to_fkey FOREIGN KEY (reply_to) REFERENCES public.comments(id);

ALTER TABLE ONLY public.comments
    ADD CONSTRAINT comments_resolved_by_fkey FOREIGN KEY (resolved_by) REFERENCES public.users(id);

ALTER TABLE ONLY public.comments
    ADD CONSTRAINT comments_target_id_fkey FOREIGN KEY (target_id) REFERENCES public.items(id);

ALTER TABLE ONLY public.item_labels
    ADD CONSTRAINT item_labels_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.items(id);

ALTER TABLE ONLY public.item_labels
    ADD CONSTRAINT item_labels_label_id_fkey FOREIGN KEY (label_id) REFERENCES public.labels(id);

ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_assignee_id_fkey FOREIGN KEY (assignee_id) REFERENCES public.users(id);

ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_creator_id_fkey FOREIGN KEY (creator_id) REFERENCES public.users(id);

ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_criteria_id_fkey FOREIGN KEY (criteria_id) REFERENCES public.items(id);

ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES public.items(id);

ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_type_fkey FOREIGN KEY (type) REFERENCES public.requirement_types(name) ON UPDATE CASCADE;

ALTER TABLE ONLY public.lint_suppressions
    ADD CONSTRAINT lint_suppressions_author_id_fkey FOREIGN KEY (author_id) REFERENCES public.users(id);

ALTER TABLE ONLY public.lint_suppressions
    ADD CONSTRAINT lint_suppressions_item_id_fkey FOREIGN KEY (item_id) REFERENCES public.items(id);

ALTER TABLE ONLY public.login_sessions
    ADD CONSTRAINT login_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);

ALTER TABLE ONLY public.proposals
    ADD CONSTRAINT proposals_author_id_fkey FOREIGN KEY (author_id) REFERENCES public.users(id);

ALTER TABLE ONLY public.proposals
    ADD CONSTRAINT proposals_decided_by_fkey FOREIGN KEY (decided_by) REFERENCES public.users(id);

ALTER TABLE ONLY public.relationships
    ADD CONSTRAINT relationships_confirmed_by_fkey FOREIGN KEY (confirmed_by) REFERENCES public.users(id);

ALTER TABLE ONLY public.relationships
    ADD CONSTRAINT relationships_creator_id_fkey FOREIGN KEY (creator_id) REFERENCES public.users(id);

ALTER TABLE ONLY public.relationships
    ADD CONSTRAINT relationships_source_id_fkey FOREIGN KEY (source_id) REFERENCES public.items(id);

ALTER TABLE ONLY public.relationships
    ADD CONSTRAINT relationships_target_id_fkey FOREIGN KEY (target_id) REFERENCES public.items(id);

ALTER TABLE ONLY public.relationships
    ADD CONSTRAINT relationships_type_fkey FOREIGN KEY (type) REFERENCES public.relationship_types(name);

ALTER TABLE ONLY public.revisions
    ADD CONSTRAINT revisions_change_id_fkey FOREIGN KEY (change_id) REFERENCES public.changes(id);

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_workflow_version_fkey FOREIGN KEY (workflow, version) REFERENCES public.workflows(name, version);

ALTER TABLE ONLY public.saved_views
    ADD CONSTRAINT saved_views_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.users(id);

ALTER TABLE ONLY public.steering_links
    ADD CONSTRAINT steering_links_epic_id_fkey FOREIGN KEY (epic_id) REFERENCES public.items(id);

ALTER TABLE ONLY public.steering_links
    ADD CONSTRAINT steering_links_steering_id_fkey FOREIGN KEY (steering_id) REFERENCES public.items(id);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);

ALTER TABLE ONLY public.triggers
    ADD CONSTRAINT triggers_workflow_version_fkey FOREIGN KEY (workflow, version) REFERENCES public.workflows(name, version);
