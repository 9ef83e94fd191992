-- The number of a free slot, locked until the end of the transaction. SKIP LOCKED: nobody waits for a slot, so a hot
-- project commits in groups. A slot that a rolling-back neighbour holds counts as taken: busy, never one too many.
CREATE OR REPLACE FUNCTION ledger_take_slot(p_project text, p_family text, p_active_max integer) RETURNS integer
LANGUAGE plpgsql AS $function$
DECLARE
  free integer;
  busy_until timestamptz;
BEGIN
  FOR attempt IN 1..2 LOOP
    SELECT n INTO free FROM slots
      WHERE project = p_project AND family = p_family AND n <= p_active_max AND until <= clock_timestamp()
      ORDER BY n LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
      RETURN free;
    END IF;
    -- A new project, or a raised maximum: the missing rows come now; a lowered one leaves the upper rows unused.
    EXIT WHEN p_active_max <= (
      SELECT count(*) FROM slots WHERE project = p_project AND family = p_family AND n <= p_active_max);
    INSERT INTO slots (project, family, n, until)
      SELECT p_project, p_family, n, '-infinity' FROM generate_series(1, p_active_max) AS n ORDER BY n
      ON CONFLICT DO NOTHING;
  END LOOP;
  SELECT min(until) INTO busy_until FROM slots
    WHERE project = p_project AND family = p_family AND n <= p_active_max AND until > clock_timestamp();
  RAISE EXCEPTION USING ERRCODE = 'OR005', MESSAGE = 'project_busy', DETAIL = json_strip_nulls(json_build_object(
    'active_max', p_active_max,
    'retry_after_seconds', ceil(extract(epoch FROM busy_until - clock_timestamp()))::integer))::text;
END
$function$;
