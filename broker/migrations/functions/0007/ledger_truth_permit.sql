-- Lets a search or a fetch of a run be admitted: only while the run is running and its time is not over.
-- FOR SHARE: a run that ends meanwhile waits for the admission, or the admission for it; never both at once. It is the
-- first lock of an admission after the call's mutex, and whoever changes a run waits for nothing after its row.
CREATE OR REPLACE FUNCTION ledger_truth_permit(p_project text, p_run text) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  found_run truth_runs;
BEGIN
  SELECT * INTO found_run FROM truth_runs WHERE id = p_run AND project = p_project FOR SHARE;
  IF NOT FOUND OR found_run.state <> 'running' THEN
    RAISE EXCEPTION USING ERRCODE = 'OR030', MESSAGE = 'run_terminal';
  ELSIF found_run.deadline_at <= clock_timestamp() THEN
    RAISE EXCEPTION USING ERRCODE = 'OR031', MESSAGE = 'execution_deadline_exceeded';
  END IF;
END
$function$;
