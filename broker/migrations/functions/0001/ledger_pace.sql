-- Takes this start's place in the project's pace: the next start may come p_gap_seconds from now.
CREATE OR REPLACE FUNCTION ledger_pace(p_project text, p_family text, p_gap_seconds double precision) RETURNS void
LANGUAGE plpgsql AS $function$
DECLARE
  open_at timestamptz;
BEGIN
  INSERT INTO pacing AS p (project, family, next_at)
    VALUES (p_project, p_family, clock_timestamp() + make_interval(secs => p_gap_seconds))
    ON CONFLICT (project, family) DO UPDATE
      SET next_at = clock_timestamp() + make_interval(secs => p_gap_seconds) WHERE p.next_at <= clock_timestamp();
  IF NOT FOUND THEN
    SELECT next_at INTO open_at FROM pacing WHERE project = p_project AND family = p_family;
    RAISE EXCEPTION USING ERRCODE = 'OR006', MESSAGE = 'cooldown', DETAIL = json_build_object(
      'retry_after_seconds', greatest(0, ceil(1000 * extract(epoch FROM open_at - clock_timestamp())) / 1000))::text;
  END IF;
END
$function$;
