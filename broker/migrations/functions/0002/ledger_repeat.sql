-- The answer to a call that the ledger knows already: conflict, stored end, the same lease again, who runs it, or that
-- it is accepted and nobody runs it yet.
-- Same owner, live lease: the reply to its admission was lost, and it is the same admission. Never a second lease.
CREATE OR REPLACE FUNCTION ledger_repeat(op operations, p_tool text, p_arguments_digest text, p_owner text)
RETURNS admission LANGUAGE plpgsql AS $function$
DECLARE
  answer admission;
BEGIN
  IF op.tool <> p_tool OR op.arguments_digest <> p_arguments_digest THEN
    RAISE EXCEPTION USING ERRCODE = 'OR007', MESSAGE = 'call_conflict', DETAIL = json_build_object('operation', op.id)::text;
  END IF;
  IF op.state = 'pending' AND op.lease_until <= clock_timestamp() THEN
    PERFORM ledger_finalize(op.id);
    SELECT * INTO op FROM operations WHERE id = op.id;
  ELSIF op.state = 'accepted' AND op.accept_until <= clock_timestamp() THEN
    PERFORM ledger_expire(op.id);
    SELECT * INTO op FROM operations WHERE id = op.id;
  END IF;
  answer.operation_id := op.id;
  IF op.state NOT IN ('accepted', 'pending') THEN
    SELECT 'stored', op.state, op.code, op.sent, r.body, r.digest
      INTO answer.verdict, answer.state, answer.code, answer.sent, answer.body, answer.digest
      FROM receipts r WHERE r.operation_id = op.id;
    RETURN answer;
  END IF;
  answer.task_id := op.task_id;
  IF op.state = 'accepted' THEN
    answer.verdict := 'accepted';
    answer.seconds_left := 10;  -- nobody can say when a worker is free: look again soon
    RETURN answer;
  END IF;
  answer.verdict := CASE WHEN op.owner = p_owner THEN 'lease' ELSE 'running' END;
  answer.generation := op.generation;
  answer.admitted_at := op.admitted_at;
  answer.lease_until := op.lease_until;
  SELECT coalesce(max(used) FILTER (WHERE scope = 'step'), 0), coalesce(max(used) FILTER (WHERE scope = 'run'), 0)
    INTO answer.step_used, answer.run_used FROM counters
    WHERE project = op.project AND family = op.family
      AND ((scope = 'run' AND name = op.run) OR (scope = 'step' AND name = op.run || '/' || op.step));
  answer.seconds_left := extract(epoch FROM op.lease_until - clock_timestamp());
  RETURN answer;
END
$function$;
