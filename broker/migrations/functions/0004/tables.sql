-- What Prometheus is told: counts that only grow, kept beside the ledger so that no scrape reads all of it again
-- (decision 0012). Each end is counted once, behind a mark that moves along the receipts in the order of their writing.
CREATE INDEX ix_receipts_written_at ON receipts (written_at, operation_id);

CREATE TABLE tally_mark (
  id           integer     NOT NULL CONSTRAINT ck_tally_mark_id CHECK (id = 1),
  written_at   timestamptz NOT NULL,
  operation_id uuid        NOT NULL,
  CONSTRAINT pk_tally_mark PRIMARY KEY (id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE tally_ends (
  tool  text   NOT NULL,
  state text   NOT NULL,
  code  text   NOT NULL,
  count bigint NOT NULL CONSTRAINT ck_tally_ends_count CHECK (count >= 1),
  CONSTRAINT pk_tally_ends PRIMARY KEY (tool, state, code)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE tally_times (
  tool    text             NOT NULL,
  phase   text             NOT NULL,
  at_most double precision NOT NULL,
  count   bigint           NOT NULL CONSTRAINT ck_tally_times_count CHECK (count >= 1),
  seconds double precision NOT NULL CONSTRAINT ck_tally_times_seconds CHECK (seconds >= 0),
  CONSTRAINT pk_tally_times PRIMARY KEY (tool, phase, at_most)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- A refused admission leaves no reservation and no operation (M148); that a budget refused it is counted here.
CREATE TABLE denials (
  project text   NOT NULL,
  family  text   NOT NULL,
  code    text   NOT NULL,
  count   bigint NOT NULL CONSTRAINT ck_denials_count CHECK (count >= 1),
  CONSTRAINT pk_denials PRIMARY KEY (project, family, code)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
