-- Accepts one call of our own client: the operation and its sealed request are there together, durably, or not at all.
-- The id is the client's own: a repeat after a lost reply is the same acceptance. A call that the ledger knows already
-- is answered from it, and nothing is written.
CREATE OR REPLACE FUNCTION ledger_accept(
  p_id uuid, p_project text, p_key text, p_tool text, p_family text, p_agent text, p_run text, p_step text,
  p_arguments_digest text, p_task_id text, p_sealed bytea,
  p_accept_seconds double precision, p_post_seconds double precision
) RETURNS admission LANGUAGE plpgsql AS $function$
DECLARE
  op operations;
  answer admission;
  now_at timestamptz;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(p_project || ' ' || p_key, 0));
  SELECT * INTO op FROM operations WHERE project = p_project AND key = p_key;
  IF op.id IS NOT NULL AND op.id <> p_id THEN
    RETURN ledger_repeat(op, p_tool, p_arguments_digest, '');
  END IF;
  IF op.id IS NULL THEN
    now_at := clock_timestamp();
    INSERT INTO operations (id, project, key, tool, family, agent, run, step, arguments_digest, task_id, state,
        accepted_at, accept_until, post_at)
      VALUES (p_id, p_project, p_key, p_tool, p_family, p_agent, p_run, p_step, p_arguments_digest, p_task_id, 'accepted',
        now_at, now_at + make_interval(secs => p_accept_seconds), now_at + make_interval(secs => p_post_seconds));
    INSERT INTO requests (operation_id, sealed) VALUES (p_id, p_sealed);
  END IF;
  answer.verdict := 'accepted';
  answer.operation_id := p_id;
  answer.task_id := p_task_id;
  answer.seconds_left := p_accept_seconds;
  RETURN answer;
END
$function$;
