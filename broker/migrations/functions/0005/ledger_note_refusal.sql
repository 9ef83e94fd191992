-- Counts one call that was refused and left no operation. Its commit does not wait for the disk: a count that a crash
-- loses is no reservation, and a refusal stays as cheap as it was.
CREATE OR REPLACE FUNCTION ledger_note_refusal(p_project text, p_run text, p_step text, p_agent text, p_family text)
RETURNS integer LANGUAGE plpgsql AS $function$
DECLARE
  counted integer;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO refusals AS r (project, run, step, agent, family, calls)
    VALUES (p_project, p_run, p_step, p_agent, p_family, 1)
    ON CONFLICT (project, run, step, agent, family) DO UPDATE SET calls = r.calls + 1
    RETURNING r.calls INTO STRICT counted;
  RETURN counted;
END
$function$;
