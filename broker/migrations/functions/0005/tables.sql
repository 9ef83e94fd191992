-- Administration: who may change settings, what an agent may use, and what is counted beside operations (decision 0011).

-- A token is 32 random bytes; its SHA-256 is all that is kept of it. No project: it is for every project.
CREATE TABLE tokens (
  id          text        NOT NULL CONSTRAINT pk_tokens PRIMARY KEY,
  name        text        NOT NULL,
  digest      text        NOT NULL CONSTRAINT ck_tokens_digest CHECK (digest ~ '^[0-9a-f]{64}$'),
  permissions text[]      NOT NULL CONSTRAINT ck_tokens_permissions CHECK (cardinality(permissions) >= 1 AND permissions
    <@ ARRAY['project.web-search.manage', 'project.runs.manage', 'fleet.view']),
  project     text,
  created_at  timestamptz NOT NULL,
  created_by  text        NOT NULL,
  expires_at  timestamptz NOT NULL,
  revoked_at  timestamptz,
  CONSTRAINT uq_tokens_digest UNIQUE (digest),
  CONSTRAINT ck_tokens_expiry CHECK (expires_at > created_at)
);

-- A person's stay on the pages, begun with a token and never longer than it: a token that is revoked ends it at once.
CREATE TABLE visits (
  digest   text        NOT NULL CONSTRAINT pk_visits PRIMARY KEY
    CONSTRAINT ck_visits_digest CHECK (digest ~ '^[0-9a-f]{64}$'),
  token_id text        NOT NULL CONSTRAINT fk_visits_token_id_tokens REFERENCES tokens (id),
  begun_at timestamptz NOT NULL,
  until    timestamptz NOT NULL
);

-- The tools that an agent has at all. No row: whatever its project permits; an empty list: neither tool (M136).
CREATE TABLE tool_lists (
  project  text        NOT NULL,
  agent    text        NOT NULL,
  families text[]      NOT NULL CONSTRAINT ck_tool_lists_families CHECK (families <@ ARRAY['search', 'fetch']),
  saved_at timestamptz NOT NULL,
  CONSTRAINT pk_tool_lists PRIMARY KEY (project, agent)
);

-- What an agent was given when it began to execute a step: new grants wait for the next beginning (M137).
CREATE TABLE executions (
  project  text        NOT NULL,
  run      text        NOT NULL,
  step     text        NOT NULL,
  agent    text        NOT NULL,
  families text[]      NOT NULL CONSTRAINT ck_executions_families CHECK (families <@ ARRAY['search', 'fetch']),
  began_at timestamptz NOT NULL,
  CONSTRAINT pk_executions PRIMARY KEY (project, run, step, agent)
);

-- Calls that were refused before any reservation and left no operation: a number, nothing of the call (M152).
CREATE TABLE refusals (
  project text    NOT NULL,
  run     text    NOT NULL,
  step    text    NOT NULL,
  agent   text    NOT NULL,
  family  text    NOT NULL,
  calls   integer NOT NULL CONSTRAINT ck_refusals_calls CHECK (calls >= 1),
  CONSTRAINT pk_refusals PRIMARY KEY (project, run, step, agent, family)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- "What ended last in this project?", for its page; written once, by the end.
CREATE INDEX ix_operations_ended ON operations (project, ended_at) WHERE ended_at IS NOT NULL;
