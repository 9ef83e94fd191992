-- Model workers: what a run's model may spend, reserved before each request and settled after it (decision 0019).
-- Amounts are whole nano-dollars: a price of $0.001 per million tokens is one a token, and sums are exact.

-- One a run that a model of the deployment works on. `committed` is what is settled and what is still reserved; each
-- reservation updates this row, which is its lock. No worker claimed it while `owner` is null; a lease that ran out
-- tells a worker that is gone.
CREATE TABLE model_sessions (
  run               text        NOT NULL CONSTRAINT pk_model_sessions PRIMARY KEY
    CONSTRAINT fk_model_sessions_run_truth_runs REFERENCES truth_runs (id),
  ceiling_nanousd   bigint      NOT NULL,
  committed_nanousd bigint      NOT NULL,
  owner             text,
  lease_until       timestamptz NOT NULL,
  ended_at          timestamptz,
  CONSTRAINT ck_model_sessions_ceiling CHECK (committed_nanousd BETWEEN 0 AND ceiling_nanousd)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- The finalization task's question; as small as the sessions that live.
CREATE INDEX ix_model_sessions_living ON model_sessions (lease_until) WHERE ended_at IS NULL;

-- Each request to a provider. One that was never settled counts as what was reserved for it.
CREATE TABLE model_requests (
  id               uuid        NOT NULL CONSTRAINT pk_model_requests PRIMARY KEY,
  run              text        NOT NULL CONSTRAINT fk_model_requests_run_model_sessions REFERENCES model_sessions (run),
  route            text        NOT NULL,
  reserved_nanousd bigint      NOT NULL,
  settled_nanousd  bigint,
  reserved_at      timestamptz NOT NULL,
  settled_at       timestamptz,
  CONSTRAINT ck_model_requests_reserved CHECK (reserved_nanousd >= 0),
  CONSTRAINT ck_model_requests_settled CHECK (settled_nanousd BETWEEN 0 AND reserved_nanousd),
  CONSTRAINT ck_model_requests_ending CHECK ((settled_nanousd IS NULL) = (settled_at IS NULL))
);

CREATE INDEX ix_model_requests_run ON model_requests (run);
