-- Counts up to p_limit ends that nobody has counted yet, and moves the mark behind them: both or neither. Says how many.
--
-- Why each is counted once: whoever counts holds the mark's row; SKIP LOCKED, so that a second exporter counts nothing
-- and reads what the first has written.
-- Why none is missed: a receipt's time is taken before its commit, so the mark never comes closer to now than
-- p_age_seconds, longer than any statement that ends an operation may run (5 s).
CREATE OR REPLACE FUNCTION ledger_tally(p_limit integer, p_age_seconds double precision, p_bounds double precision[])
RETURNS integer LANGUAGE plpgsql AS $function$
DECLARE
  mark tally_mark;
  counted integer;
BEGIN
  INSERT INTO tally_mark (id, written_at, operation_id)
    SELECT 1, '-infinity', '00000000-0000-0000-0000-000000000000' WHERE NOT EXISTS (SELECT FROM tally_mark)
    ON CONFLICT DO NOTHING;
  SELECT * INTO mark FROM tally_mark WHERE id = 1 FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  WITH fresh AS MATERIALIZED (
    SELECT r.written_at, r.operation_id, r.body, o.tool, o.state, coalesce(o.code, '') AS code
      FROM receipts r JOIN operations o ON o.id = r.operation_id
      WHERE (r.written_at, r.operation_id) > (mark.written_at, mark.operation_id)
        AND r.written_at <= (SELECT clock_timestamp() - make_interval(secs => p_age_seconds))
      ORDER BY r.written_at, r.operation_id LIMIT p_limit
  ), ends AS (
    INSERT INTO tally_ends AS t (tool, state, code, count) SELECT tool, state, code, count(*) FROM fresh GROUP BY tool, state, code
      ON CONFLICT (tool, state, code) DO UPDATE SET count = t.count + excluded.count
  ), observed AS (
    SELECT fresh.tool, one.phase, one.seconds,
        coalesce((SELECT min(bound) FROM unnest(p_bounds) AS bound WHERE bound >= one.seconds), 'Infinity') AS at_most
      FROM fresh, ledger_phases(fresh.body) AS one
  ), times AS (
    INSERT INTO tally_times AS t (tool, phase, at_most, count, seconds)
      SELECT tool, phase, at_most, count(*), sum(seconds) FROM observed GROUP BY tool, phase, at_most
      ON CONFLICT (tool, phase, at_most) DO UPDATE SET count = t.count + excluded.count, seconds = t.seconds + excluded.seconds
  ), moved AS (
    UPDATE tally_mark SET written_at = last.written_at, operation_id = last.operation_id
      FROM (SELECT written_at, operation_id FROM fresh ORDER BY written_at DESC, operation_id DESC LIMIT 1) AS last
  )
  SELECT count(*) INTO counted FROM fresh;
  RETURN counted;
END
$function$;
