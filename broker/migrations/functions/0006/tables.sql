-- Agents' tokens: the gateway's bearers (decision 0016). A token that names an agent is for one project, carries the one
-- permission to call tools and no other; a step, and a session, belong to a run.
ALTER TABLE tokens
  ADD COLUMN agent   text,
  ADD COLUMN run     text,
  ADD COLUMN step    text,
  ADD COLUMN session text,
  DROP CONSTRAINT ck_tokens_permissions,
  ADD CONSTRAINT ck_tokens_permissions CHECK (cardinality(permissions) >= 1 AND permissions
    <@ ARRAY['project.web-search.manage', 'project.runs.manage', 'fleet.view', 'agent.tools.call']),
  ADD CONSTRAINT ck_tokens_agent CHECK (('agent.tools.call' = ANY (permissions)) = (agent IS NOT NULL)
    AND (agent IS NULL OR project IS NOT NULL AND cardinality(permissions) = 1)),
  ADD CONSTRAINT ck_tokens_claim CHECK ((run IS NULL OR agent IS NOT NULL) AND (step IS NULL OR run IS NOT NULL)
    AND (session IS NULL OR run IS NOT NULL));
