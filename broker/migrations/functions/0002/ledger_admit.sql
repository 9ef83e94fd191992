-- Admits one delivery of one call: one statement, one round trip, one commit; or one refusal that leaves nothing.
--
-- A call that was accepted is admitted by its own task alone (accepted -> pending); any other call becomes a new row.
-- Why it cannot deadlock: waiting locks are taken in one order only: the call's mutex, the accepted row, pacing, run
-- counter, step counter. Slots are never waited for; whoever else locks an accepted row waits for nothing after it.
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
  taken reservation;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(p_project || ' ' || p_key, 0));
  SELECT * INTO op FROM operations WHERE project = p_project AND key = p_key;
  IF op.state = 'accepted' THEN
    SELECT * INTO STRICT op FROM operations WHERE id = op.id FOR UPDATE;
  END IF;
  IF op.id IS NOT NULL AND NOT (op.state = 'accepted' AND op.accept_until > clock_timestamp()
      AND op.task_id = p_task_id AND op.tool = p_tool AND op.arguments_digest = p_arguments_digest) THEN
    RETURN ledger_repeat(op, p_tool, p_arguments_digest, p_owner);
  END IF;

  -- What was accepted says who asks; its delivery cannot say otherwise.
  taken := ledger_reserve(p_project, coalesce(op.family, p_family), coalesce(op.agent, p_agent), coalesce(op.run, p_run),
    coalesce(op.step, p_step), p_step_max, p_run_max, p_active_max, p_gap_seconds);

  -- Every lock is held: now the lease's time begins.
  answer.admitted_at := clock_timestamp();
  answer.lease_until := answer.admitted_at + make_interval(secs => p_lease_seconds);
  IF op.id IS NULL THEN
    answer.operation_id := gen_random_uuid();
    INSERT INTO operations (id, project, key, tool, family, agent, run, step, arguments_digest, task_id, owner,
        generation, slot, state, admitted_at, lease_until)
      VALUES (answer.operation_id, p_project, p_key, p_tool, p_family, p_agent, p_run, p_step, p_arguments_digest,
        p_task_id, p_owner, taken.generation, taken.slot, 'pending', answer.admitted_at, answer.lease_until);
  ELSE
    UPDATE operations SET state = 'pending', owner = p_owner, generation = taken.generation, slot = taken.slot,
        admitted_at = answer.admitted_at, lease_until = answer.lease_until
      WHERE id = op.id AND state = 'accepted'
      RETURNING id INTO STRICT answer.operation_id;
  END IF;
  UPDATE slots SET operation_id = answer.operation_id, until = answer.lease_until
    WHERE project = p_project AND family = coalesce(op.family, p_family) AND n = taken.slot;
  answer.verdict := 'lease';
  answer.task_id := p_task_id;
  answer.generation := taken.generation;
  answer.run_used := taken.run_used;
  answer.step_used := taken.step_used;
  answer.seconds_left := extract(epoch FROM answer.lease_until - clock_timestamp());
  RETURN answer;
END
$function$;
