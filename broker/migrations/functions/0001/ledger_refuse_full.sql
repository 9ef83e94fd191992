-- Refuses because a run or a step has used all its reservations.
CREATE OR REPLACE FUNCTION ledger_refuse_full(p_scope text, p_max integer) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  IF p_scope = 'step' THEN
    RAISE EXCEPTION USING ERRCODE = 'OR003', MESSAGE = 'step_quota_exhausted', DETAIL = json_build_object('limit', p_max)::text;
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'OR004', MESSAGE = 'run_quota_exhausted', DETAIL = json_build_object('limit', p_max)::text;
END
$function$;
