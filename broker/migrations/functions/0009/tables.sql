-- The review desk: what people decided of candidates, in a ledger of its own (decision 0020). No run reads it.

-- One decision a candidate, bound to the candidate's hash and to the output that it stands in.
CREATE TABLE truth_decisions (
  run              text        NOT NULL CONSTRAINT fk_truth_decisions_run_truth_outputs REFERENCES truth_outputs (run),
  candidate_sha256 text        NOT NULL CONSTRAINT ck_truth_decisions_candidate CHECK (candidate_sha256 ~ '^[0-9a-f]{64}$'),
  output_sha256    text        NOT NULL CONSTRAINT ck_truth_decisions_output CHECK (output_sha256 ~ '^[0-9a-f]{64}$'),
  decision         text        NOT NULL CONSTRAINT ck_truth_decisions_decision
    CHECK (decision IN ('save_as_proposed', 'connect_existing', 'dismiss')),
  claim_id         text,
  attached         integer[]   NOT NULL,
  decided_by       text        NOT NULL,
  decided_at       timestamptz NOT NULL,
  CONSTRAINT pk_truth_decisions PRIMARY KEY (run, candidate_sha256),
  CONSTRAINT ck_truth_decisions_claim CHECK ((decision = 'connect_existing') = (claim_id IS NOT NULL)),
  CONSTRAINT ck_truth_decisions_attached CHECK (decision <> 'dismiss' OR cardinality(attached) = 0)
);

-- The exact passages that were selected, each with where it stands and the receipt of the fetch that captured it.
CREATE TABLE truth_attachments (
  run              text    NOT NULL,
  candidate_sha256 text    NOT NULL,
  evidence         integer NOT NULL CONSTRAINT ck_truth_attachments_evidence CHECK (evidence >= 0),
  operation_id     uuid    CONSTRAINT fk_truth_attachments_operation_id_receipts REFERENCES receipts (operation_id),
  body             text    NOT NULL,
  sha256           text    NOT NULL CONSTRAINT ck_truth_attachments_sha256 CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  CONSTRAINT pk_truth_attachments PRIMARY KEY (run, candidate_sha256, evidence),
  CONSTRAINT fk_truth_attachments_run_truth_decisions FOREIGN KEY (run, candidate_sha256)
    REFERENCES truth_decisions (run, candidate_sha256)
);

-- The desk's list: what was submitted last.
CREATE INDEX ix_truth_outputs_submitted_at ON truth_outputs (submitted_at);

ALTER TABLE tokens DROP CONSTRAINT ck_tokens_permissions;
ALTER TABLE tokens ADD CONSTRAINT ck_tokens_permissions CHECK (cardinality(permissions) >= 1 AND permissions
  <@ ARRAY['project.web-search.manage', 'project.runs.manage', 'project.truth.review', 'fleet.view', 'agent.tools.call']);
