-- How a proposal was made, and with which token: nobody accepts in the same way what they proposed. Of older
-- proposals only a token is known, from the change that kept them; without one, `via` stays empty.
ALTER TABLE proposals ADD COLUMN via text NOT NULL DEFAULT ''; -- token, session, local
ALTER TABLE proposals ADD COLUMN face text NOT NULL DEFAULT ''; -- rest, rpc, mcp, a2a, web, cli, system
ALTER TABLE proposals ADD COLUMN client text NOT NULL DEFAULT ''; -- the program, as it called itself
ALTER TABLE proposals ADD COLUMN token_id text NOT NULL DEFAULT '';
ALTER TABLE proposals ADD COLUMN run_id text NOT NULL DEFAULT ''; -- the workflow run that made it

UPDATE proposals SET
    face = COALESCE((SELECT c.face FROM revisions r JOIN changes c ON c.id = r.change_id
        WHERE r.entity_id = proposals.id AND r.action = 'created'), ''),
    client = COALESCE((SELECT c.client FROM revisions r JOIN changes c ON c.id = r.change_id
        WHERE r.entity_id = proposals.id AND r.action = 'created'), ''),
    token_id = COALESCE((SELECT c.token_id FROM revisions r JOIN changes c ON c.id = r.change_id
        WHERE r.entity_id = proposals.id AND r.action = 'created'), '');
UPDATE proposals SET via = 'token' WHERE token_id <> '';
