-- Completes a run with its output: the state, the output and a receipt in the run's chain, or nothing. Says which.
-- The operation was never admitted to ride: its lease is a moment, its slot none, its generation that of no settings.
-- Locks: the run's row first, the chain's row last, and nothing is waited for between them (ledger_link).
CREATE OR REPLACE FUNCTION ledger_truth_complete(
  p_run text, p_body text, p_sha256 text, p_submission_sha256 text,
  p_operation uuid, p_key text, p_tool text, p_agent text, p_step text, p_arguments_digest text, p_task_id text,
  p_receipt text, p_digest text
) RETURNS boolean LANGUAGE plpgsql AS $function$
DECLARE
  run truth_runs;
BEGIN
  UPDATE truth_runs SET state = 'completed', ended_at = clock_timestamp()
    WHERE id = p_run AND state = 'running' AND deadline_at > clock_timestamp()
    RETURNING * INTO run;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO truth_outputs (run, body, sha256, submission_sha256, submitted_at)
    VALUES (run.id, p_body, p_sha256, p_submission_sha256, run.ended_at);
  INSERT INTO operations (id, project, key, tool, family, agent, run, step, arguments_digest, task_id, owner, generation,
      slot, state, sent, admitted_at, lease_until, ended_at)
    VALUES (p_operation, run.project, p_key, p_tool, 'desk', p_agent, run.id, p_step, p_arguments_digest, p_task_id,
      p_task_id, 0, 0, 'completed', 'not_sent', run.ended_at, run.ended_at + interval '1 second', run.ended_at);
  INSERT INTO receipts (operation_id, body, digest, written_at) VALUES (p_operation, p_receipt, p_digest, run.ended_at);
  RETURN true;
END
$function$;
