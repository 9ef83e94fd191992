-- Ends up to p_limit accepted calls whose time is over, oldest first. SKIP LOCKED: two sweepers share the work, and a
-- worker that is admitting one is left alone.
CREATE OR REPLACE FUNCTION ledger_expire_accepted(p_limit integer) RETURNS integer LANGUAGE sql AS $function$
  WITH late AS MATERIALIZED (
    SELECT id FROM operations
      WHERE state = 'accepted' AND accept_until <= (SELECT clock_timestamp())
      ORDER BY accept_until LIMIT p_limit FOR UPDATE SKIP LOCKED
  )
  SELECT count(*)::integer FROM late WHERE ledger_expire(id)
$function$;
