-- The number of a free slot, locked until the end of the transaction. SKIP LOCKED: nobody waits for a slot, so a hot
-- project commits in groups. Busy is said when a second look, with a snapshot of its own, sees no free slot either. A
-- slot that others hold in three looks counts as taken, though they may yet roll back: busy too early, never one too many.
CREATE OR REPLACE FUNCTION ledger_take_slot(p_project text, p_family text, p_active_max integer) RETURNS integer
LANGUAGE plpgsql AS $function$
DECLARE
  taken integer;
  known_count integer;
  free_count integer;
  busy_until timestamptz;
BEGIN
  FOR look IN 1..3 LOOP
    SELECT n INTO taken FROM slots
      WHERE project = p_project AND family = p_family AND n <= p_active_max AND until <= clock_timestamp()
      ORDER BY n LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
      RETURN taken;
    END IF;
    SELECT count(*), count(*) FILTER (WHERE until <= clock_timestamp()), min(until) FILTER (WHERE until > clock_timestamp())
      INTO known_count, free_count, busy_until
      FROM slots WHERE project = p_project AND family = p_family AND n <= p_active_max;
    IF known_count < p_active_max THEN
      -- A new project, or a raised maximum: the missing rows come now. A lowered maximum leaves the upper rows unused.
      INSERT INTO slots (project, family, n, until)
        SELECT p_project, p_family, n, '-infinity' FROM generate_series(1, p_active_max) AS n ORDER BY n
        ON CONFLICT DO NOTHING;
    ELSIF free_count = 0 THEN
      EXIT;
    END IF;
  END LOOP;
  RAISE EXCEPTION USING ERRCODE = 'OR005', MESSAGE = 'project_busy', DETAIL = json_strip_nulls(json_build_object(
    'active_max', p_active_max,
    'retry_after_seconds', ceil(extract(epoch FROM busy_until - clock_timestamp()))::integer))::text;
END
$function$;
