-- The ledger's tables. `broker/ledger/tables.py` says the same in Python; a test holds them equal.

CREATE TABLE projects (
  id            text        NOT NULL CONSTRAINT pk_projects PRIMARY KEY,
  enabled       boolean     NOT NULL,
  fetch_enabled boolean     NOT NULL,
  agents        text[]      NOT NULL,
  generation    bigint      NOT NULL CONSTRAINT ck_projects_generation CHECK (generation >= 1),
  updated_at    timestamptz NOT NULL
);

-- Identifiers, operation, timestamps, lease and completion state, digest: nothing else, ever (M154).
-- No foreign key to projects: its KEY SHARE lock on one hot project row would meet every save and every admission.
-- Each row is updated once, and not in place (the partial index follows `state`), so half of all versions die young:
-- vacuum at 2 % instead of 20 %.
CREATE TABLE operations (
  id               uuid        NOT NULL CONSTRAINT pk_operations PRIMARY KEY,
  project          text        NOT NULL,
  key              text        NOT NULL,
  tool             text        NOT NULL,
  family           text        NOT NULL,
  agent            text        NOT NULL,
  run              text        NOT NULL,
  step             text        NOT NULL,
  arguments_digest text        NOT NULL CONSTRAINT ck_operations_arguments_digest CHECK (arguments_digest ~ '^[0-9a-f]{64}$'),
  task_id          text        NOT NULL,
  owner            text        NOT NULL,
  generation       bigint      NOT NULL,
  slot             integer     NOT NULL,
  state            text        NOT NULL CONSTRAINT ck_operations_state
    CHECK (state IN ('pending', 'completed', 'failed', 'cancelled', 'outcome_unknown')),
  code             text,
  sent             text        CONSTRAINT ck_operations_sent CHECK (sent IN ('not_sent', 'sent', 'unknown')),
  admitted_at      timestamptz NOT NULL,
  lease_until      timestamptz NOT NULL,
  ended_at         timestamptz,
  CONSTRAINT uq_operations_project_key UNIQUE (project, key),
  CONSTRAINT ck_operations_lease CHECK (lease_until > admitted_at),
  CONSTRAINT ck_operations_ending
    CHECK ((state = 'pending') = (ended_at IS NULL) AND (state = 'pending') = (sent IS NULL)),
  CONSTRAINT ck_operations_code
    CHECK (CASE WHEN state IN ('pending', 'completed') THEN code IS NULL ELSE code IS NOT NULL END)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- The finalization task's only question; as small as the work in flight.
CREATE INDEX ix_operations_pending ON operations (lease_until) WHERE state = 'pending';
-- "The last hour", for `outrider status`: rows arrive in this order, so a block range index of some kilobytes is enough.
CREATE INDEX ix_operations_admitted_at ON operations USING brin (admitted_at);

CREATE TABLE receipts (
  operation_id uuid        NOT NULL CONSTRAINT pk_receipts PRIMARY KEY
    CONSTRAINT fk_receipts_operation_id_operations REFERENCES operations (id),
  body         text        NOT NULL,
  digest       text        NOT NULL CONSTRAINT ck_receipts_digest CHECK (digest ~ '^sha-256=:[A-Za-z0-9+/]{43}=:$'),
  written_at   timestamptz NOT NULL
);

-- One row for each concurrent request that a project may have. `until` is the lease's end, so a dead worker's slot is
-- free at that instant without anybody's help (M150). Rows here and in the next two tables are rewritten all the time
-- and no index holds what changes: half-empty pages keep every rewrite in place (HOT), and vacuum comes early.
CREATE TABLE slots (
  project      text        NOT NULL,
  family       text        NOT NULL,
  n            integer     NOT NULL CONSTRAINT ck_slots_n CHECK (n >= 1),
  operation_id uuid,
  until        timestamptz NOT NULL,
  CONSTRAINT pk_slots PRIMARY KEY (project, family, n)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE pacing (
  project text        NOT NULL,
  family  text        NOT NULL,
  next_at timestamptz NOT NULL,
  CONSTRAINT pk_pacing PRIMARY KEY (project, family)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Reservations made, for a run (name: the run) or for a logical step of one (name: run/step). They only ever grow.
CREATE TABLE counters (
  project text    NOT NULL,
  family  text    NOT NULL,
  scope   text    NOT NULL CONSTRAINT ck_counters_scope CHECK (scope IN ('run', 'step')),
  name    text    NOT NULL,
  used    integer NOT NULL CONSTRAINT ck_counters_used CHECK (used >= 1),
  CONSTRAINT pk_counters PRIMARY KEY (project, family, scope, name)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Who changed what, without content (M141).
CREATE TABLE audit (
  id      bigint      NOT NULL GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_audit PRIMARY KEY,
  at      timestamptz NOT NULL,
  actor   text        NOT NULL,
  action  text        NOT NULL,
  project text        NOT NULL,
  facts   jsonb       NOT NULL
);
CREATE INDEX ix_audit_project ON audit (project, id);
