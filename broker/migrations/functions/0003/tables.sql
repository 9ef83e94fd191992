-- Receipts that verify (X8): every receipt has its place in the chain of its run, and a link that covers its digest and
-- the link before it. `schemas/chain.py` says the same for readers; decision 0006 says why.
-- "What ended in this run?": written once, by the end, and never by an admission. It comes before the other locks: every
-- end writes operations first and receipts second, and so does this migration.
CREATE INDEX ix_operations_run ON operations (project, run) WHERE ended_at IS NOT NULL;

CREATE TABLE chains (
  project text    NOT NULL,
  run     text    NOT NULL,
  length  integer NOT NULL CONSTRAINT ck_chains_length CHECK (length >= 1),
  head    text    NOT NULL CONSTRAINT ck_chains_head CHECK (head ~ '^sha-256=:[A-Za-z0-9+/]{43}=:$'),
  CONSTRAINT pk_chains PRIMARY KEY (project, run)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

ALTER TABLE receipts
  ADD COLUMN position integer CONSTRAINT ck_receipts_position CHECK (position >= 1),
  ADD COLUMN link     text    CONSTRAINT ck_receipts_link CHECK (link ~ '^sha-256=:[A-Za-z0-9+/]{43}=:$');
