-- The outbox: calls of our own clients are accepted first, with their sealed request, and admitted later.
-- An accepted operation has no owner, no lease, no slot and no reservation, so these columns may now be empty; the
-- checks say when. A raw call is never accepted, and looks as it always did.
ALTER TABLE operations
  ALTER COLUMN owner DROP NOT NULL,
  ALTER COLUMN generation DROP NOT NULL,
  ALTER COLUMN slot DROP NOT NULL,
  ALTER COLUMN admitted_at DROP NOT NULL,
  ALTER COLUMN lease_until DROP NOT NULL,
  ADD COLUMN accepted_at  timestamptz,
  ADD COLUMN accept_until timestamptz,
  ADD COLUMN post_at      timestamptz,
  DROP CONSTRAINT ck_operations_state,
  DROP CONSTRAINT ck_operations_ending,
  DROP CONSTRAINT ck_operations_code,
  ADD CONSTRAINT ck_operations_state CHECK
    (state IN ('accepted', 'refused', 'pending', 'completed', 'failed', 'cancelled', 'outcome_unknown')),
  ADD CONSTRAINT ck_operations_ending CHECK ((state IN ('accepted', 'pending')) = (ended_at IS NULL)
    AND (state IN ('accepted', 'pending')) = (sent IS NULL)),
  ADD CONSTRAINT ck_operations_code CHECK
    (CASE WHEN state IN ('accepted', 'pending', 'completed') THEN code IS NULL ELSE code IS NOT NULL END),
  ADD CONSTRAINT ck_operations_acceptance CHECK
    (num_nulls(accepted_at, accept_until, post_at) IN (0, 3) AND accept_until > accepted_at),
  ADD CONSTRAINT ck_operations_admission CHECK (num_nulls(owner, generation, slot, admitted_at, lease_until) IN (0, 5)),
  ADD CONSTRAINT ck_operations_unadmitted CHECK (CASE WHEN admitted_at IS NULL
    THEN accepted_at IS NOT NULL AND state IN ('accepted', 'refused', 'cancelled') AND coalesce(sent, 'not_sent') = 'not_sent'
    ELSE state NOT IN ('accepted', 'refused') END);

-- The sweeper's only question; as small as what waits for a worker.
CREATE INDEX ix_operations_accepted ON operations (post_at) WHERE state = 'accepted';
CREATE INDEX ix_operations_accepted_at ON operations USING brin (accepted_at);

-- What an accepted call asks for, under the deployment's key: here from its acceptance to its end and not a moment
-- longer (M119, M154). 1 MiB is the longest; a nonce, a tag and an empty object are the shortest.
CREATE TABLE requests (
  operation_id uuid  NOT NULL CONSTRAINT pk_requests PRIMARY KEY
    CONSTRAINT fk_requests_operation_id_operations REFERENCES operations (id),
  sealed       bytea NOT NULL CONSTRAINT ck_requests_sealed CHECK (octet_length(sealed) BETWEEN 31 AND 1048576)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
