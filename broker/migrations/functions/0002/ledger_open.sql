-- What a worker needs to know of the operation whose id a message carries, before it is admitted: who asks, and the
-- sealed request. Reserves nothing and locks nothing, so a request that is refused by its arguments costs nothing (M148).
CREATE OR REPLACE FUNCTION ledger_open(p_id uuid, p_tool text, p_task_id text) RETURNS opening LANGUAGE plpgsql AS $function$
DECLARE
  op operations;
  opened opening;
  answer admission;
BEGIN
  SELECT * INTO op FROM operations
    WHERE id = p_id AND tool = p_tool AND task_id = p_task_id AND accepted_at IS NOT NULL;
  IF NOT FOUND THEN
    answer.verdict := 'absent';
    opened.answer := answer;
    RETURN opened;
  END IF;
  opened.answer := ledger_repeat(op, op.tool, op.arguments_digest, '');
  IF (opened.answer).verdict = 'accepted' THEN
    SELECT op.project, op.key, op.agent, op.run, op.step, op.arguments_digest,
        extract(epoch FROM clock_timestamp() - op.accepted_at), r.sealed
      INTO opened.project, opened.key, opened.agent, opened.run, opened.step, opened.arguments_digest, opened.waited_seconds,
        opened.sealed
      FROM requests r WHERE r.operation_id = op.id;
    IF NOT FOUND THEN  -- it ended between the two reads
      SELECT * INTO op FROM operations WHERE id = p_id;
      opened.answer := ledger_repeat(op, op.tool, op.arguments_digest, '');
    END IF;
  END IF;
  RETURN opened;
END
$function$;
