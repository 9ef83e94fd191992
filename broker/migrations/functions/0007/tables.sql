-- Truth analysis: what folders hold, runs over one passage each, and the one output of a run (decision 0015).
-- Its searches and fetches are operations like any other; their receipts hold the exact text, which is what is promised.

-- A folder's recorded claims and support receipts, a snapshot an import. A run is bound to one, so none ever changes.
CREATE TABLE truth_folders (
  project     text        NOT NULL,
  folder      text        NOT NULL,
  snapshot    integer     NOT NULL CONSTRAINT ck_truth_folders_snapshot CHECK (snapshot >= 1),
  body        text        NOT NULL CONSTRAINT ck_truth_folders_body CHECK (octet_length(body) <= 4194304),
  sha256      text        NOT NULL CONSTRAINT ck_truth_folders_sha256 CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  imported_at timestamptz NOT NULL,
  CONSTRAINT pk_truth_folders PRIMARY KEY (project, folder, snapshot)
);

CREATE TABLE truth_runs (
  id               text        NOT NULL CONSTRAINT pk_truth_runs PRIMARY KEY,
  project          text        NOT NULL,
  call             text        NOT NULL,
  arguments_digest text        NOT NULL CONSTRAINT ck_truth_runs_arguments_digest CHECK (arguments_digest ~ '^[0-9a-f]{64}$'),
  session          text        NOT NULL CONSTRAINT ck_truth_runs_session CHECK (session = id || '-cowork-truth-analysis'),
  folder           text        NOT NULL,
  snapshot         integer     NOT NULL CONSTRAINT ck_truth_runs_snapshot CHECK (snapshot >= 0),
  document         text        NOT NULL,
  passage          text        NOT NULL CONSTRAINT ck_truth_runs_passage CHECK (octet_length(passage) BETWEEN 1 AND 32768),
  selector         text        NOT NULL,
  context_sha256   text        NOT NULL CONSTRAINT ck_truth_runs_context_sha256 CHECK (context_sha256 ~ '^[0-9a-f]{64}$'),
  state            text        NOT NULL CONSTRAINT ck_truth_runs_state
    CHECK (state IN ('prepared', 'launching', 'running', 'completed', 'unavailable', 'failed')),
  code             text,
  created_at       timestamptz NOT NULL,
  deadline_at      timestamptz NOT NULL,
  ended_at         timestamptz,
  CONSTRAINT uq_truth_runs_project_call UNIQUE (project, call),
  CONSTRAINT ck_truth_runs_deadline CHECK (deadline_at > created_at),
  CONSTRAINT ck_truth_runs_ending CHECK ((state IN ('prepared', 'launching', 'running')) = (ended_at IS NULL)),
  CONSTRAINT ck_truth_runs_code CHECK ((state IN ('unavailable', 'failed')) = (code IS NOT NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02);

-- The finalization task's question; as small as the runs that live.
CREATE INDEX ix_truth_runs_active ON truth_runs (deadline_at) WHERE ended_at IS NULL;

-- Each state that a run came to, written by the transition itself: the key says that none is reached twice.
CREATE TABLE truth_moves (
  run   text        NOT NULL CONSTRAINT fk_truth_moves_run_truth_runs REFERENCES truth_runs (id),
  state text        NOT NULL,
  code  text,
  at    timestamptz NOT NULL,
  CONSTRAINT pk_truth_moves PRIMARY KEY (run, state)
);

-- Staged output of completed runs. No claim, no evidence and no decision: those are for people to make.
CREATE TABLE truth_outputs (
  run               text        NOT NULL CONSTRAINT pk_truth_outputs PRIMARY KEY
    CONSTRAINT fk_truth_outputs_run_truth_runs REFERENCES truth_runs (id),
  body              text        NOT NULL CONSTRAINT ck_truth_outputs_body CHECK (octet_length(body) <= 80000),
  sha256            text        NOT NULL CONSTRAINT ck_truth_outputs_sha256 CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  submission_sha256 text        NOT NULL CONSTRAINT ck_truth_outputs_submission CHECK (submission_sha256 ~ '^[0-9a-f]{64}$'),
  submitted_at      timestamptz NOT NULL
);
