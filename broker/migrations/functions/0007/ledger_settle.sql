-- Ends an operation as its lease's holder says, or gives the end that was there first. One statement, one commit.
-- A lease that is over still settles as long as nobody has finalized the row: first writer wins, and fewer unknowns.
-- The settings are read after the row's lock, so a save that was committed before this settle is always seen (M139).
-- That verdict is returned and not raised: nothing was written, and a server logs the statement of what it raises, which
-- here holds the receipt.
-- The receipt comes last, because the run's chain is the last lock (ledger_link).
CREATE OR REPLACE FUNCTION ledger_settle(
  p_id uuid, p_owner text, p_state text, p_code text, p_sent text, p_body text, p_digest text
) RETURNS admission LANGUAGE plpgsql AS $function$
DECLARE
  op operations;
  answer admission;
BEGIN
  SELECT * INTO op FROM operations WHERE id = p_id FOR UPDATE;
  IF NOT FOUND OR op.owner IS DISTINCT FROM p_owner THEN
    RAISE EXCEPTION USING ERRCODE = 'OR021', MESSAGE = 'lease_not_known', DETAIL = json_build_object('operation', p_id)::text;
  END IF;
  IF op.state <> 'pending' THEN
    RETURN ledger_repeat(op, op.tool, op.arguments_digest, p_owner);
  END IF;
  IF p_state = 'completed' THEN
    PERFORM FROM projects WHERE id = op.project AND generation = op.generation;
    IF NOT FOUND AND op.generation > 0 THEN  -- 0: permitted by a truth run, not by settings
      answer.verdict := 'settings_changed';
      answer.operation_id := p_id;
      RETURN answer;
    END IF;
  END IF;
  UPDATE operations SET state = p_state, code = p_code, sent = p_sent, ended_at = clock_timestamp()
    WHERE id = p_id AND owner = p_owner AND state = 'pending'
    RETURNING id, state, code, sent, 'stored' INTO STRICT
      answer.operation_id, answer.state, answer.code, answer.sent, answer.verdict;
  UPDATE slots SET operation_id = NULL, until = '-infinity'
    WHERE project = op.project AND family = op.family AND n = op.slot AND operation_id = p_id;
  INSERT INTO receipts (operation_id, body, digest, written_at) VALUES (p_id, p_body, p_digest, clock_timestamp())
    RETURNING body, digest INTO STRICT answer.body, answer.digest;
  RETURN answer;
END
$function$;
