-- Admits one delivery of one call: one statement, one round trip, one commit; or one refusal that leaves nothing.
--
-- Why it cannot deadlock: waiting locks are taken in one order only: the call's mutex, pacing, run counter, step
-- counter. Slots are never waited for, and the operation's own row is new.
-- Why duplicates are safe: all deliveries of one call meet at the mutex, so the second sees what the first committed,
-- and is answered from it before any quota is looked at. The unique key stands behind the mutex.
-- Every refusal is a RAISE: what was taken so far (a slot, a pace, a count) rolls back with it (M148).
CREATE OR REPLACE FUNCTION ledger_admit(
  p_project text, p_key text, p_tool text, p_family text, p_agent text, p_run text, p_step text,
  p_arguments_digest text, p_owner text, p_task_id text,
  p_lease_seconds double precision, p_step_max integer, p_run_max integer, p_active_max integer,
  p_gap_seconds double precision
) RETURNS admission LANGUAGE plpgsql AS $function$
DECLARE
  op operations;
  answer admission;
  free integer;
  full_scope text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(p_project || ' ' || p_key, 0));
  SELECT * INTO op FROM operations WHERE project = p_project AND key = p_key;
  IF FOUND THEN
    RETURN ledger_repeat(op, p_tool, p_arguments_digest, p_owner);
  END IF;

  answer.generation := ledger_permit(p_project, p_family, p_agent);
  SELECT scope INTO full_scope FROM counters
    WHERE project = p_project AND family = p_family
      AND ((scope = 'run' AND name = p_run AND used >= p_run_max) OR (scope = 'step' AND name = p_run || '/' || p_step AND used >= p_step_max))
    ORDER BY scope LIMIT 1;
  IF FOUND THEN
    PERFORM ledger_refuse_full(full_scope, CASE full_scope WHEN 'run' THEN p_run_max ELSE p_step_max END);
  END IF;

  free := ledger_take_slot(p_project, p_family, p_active_max);
  IF p_gap_seconds > 0 THEN
    PERFORM ledger_pace(p_project, p_family, p_gap_seconds);
  END IF;
  answer.run_used := ledger_count(p_project, p_family, 'run', p_run, p_run_max);
  answer.step_used := ledger_count(p_project, p_family, 'step', p_run || '/' || p_step, p_step_max);

  -- Every lock is held: now the lease's time begins.
  answer.operation_id := gen_random_uuid();
  answer.admitted_at := clock_timestamp();
  answer.lease_until := answer.admitted_at + make_interval(secs => p_lease_seconds);
  INSERT INTO operations (id, project, key, tool, family, agent, run, step, arguments_digest, task_id, owner,
      generation, slot, state, admitted_at, lease_until)
    VALUES (answer.operation_id, p_project, p_key, p_tool, p_family, p_agent, p_run, p_step, p_arguments_digest,
      p_task_id, p_owner, answer.generation, free, 'pending', answer.admitted_at, answer.lease_until);
  UPDATE slots SET operation_id = answer.operation_id, until = answer.lease_until
    WHERE project = p_project AND family = p_family AND n = free;
  answer.verdict := 'lease';
  answer.task_id := p_task_id;
  answer.seconds_left := extract(epoch FROM answer.lease_until - clock_timestamp());
  RETURN answer;
END
$function$;
