-- Takes everything that an admission needs: permission, a slot, a start and two counts; or refuses by a RAISE, with which
-- all of it rolls back (M148). Waiting locks come in one order only: the truth run's row, pacing, run counter, step counter.
-- A search or fetch of a truth run is permitted by the run itself, and a project's web settings have no say in it: there
-- is no generation of settings that it could outlive, which 0 says.
CREATE OR REPLACE FUNCTION ledger_reserve(
  p_project text, p_family text, p_agent text, p_run text, p_step text,
  p_step_max integer, p_run_max integer, p_active_max integer, p_gap_seconds double precision
) RETURNS reservation LANGUAGE plpgsql AS $function$
DECLARE
  taken reservation;
  full_scope text;
BEGIN
  IF p_family IN ('truth_search', 'truth_fetch') THEN
    PERFORM ledger_truth_permit(p_project, p_run);
    taken.generation := 0;
  ELSE
    taken.generation := ledger_permit(p_project, p_family, p_agent);
  END IF;
  SELECT scope INTO full_scope FROM counters
    WHERE project = p_project AND family = p_family
      AND ((scope = 'run' AND name = p_run AND used >= p_run_max) OR (scope = 'step' AND name = p_run || '/' || p_step AND used >= p_step_max))
    ORDER BY scope LIMIT 1;
  IF FOUND THEN
    PERFORM ledger_refuse_full(full_scope, CASE full_scope WHEN 'run' THEN p_run_max ELSE p_step_max END);
  END IF;
  taken.slot := ledger_take_slot(p_project, p_family, p_active_max);
  IF p_gap_seconds > 0 THEN
    PERFORM ledger_pace(p_project, p_family, p_gap_seconds);
  END IF;
  taken.run_used := ledger_count(p_project, p_family, 'run', p_run, p_run_max);
  taken.step_used := ledger_count(p_project, p_family, 'step', p_run || '/' || p_step, p_step_max);
  RETURN taken;
END
$function$;
