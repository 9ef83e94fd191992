-- Finalizes up to p_limit operations past their lease, oldest first. SKIP LOCKED: two finalizers share the work, and a
-- settle under way is left alone. The clock stands in a sub-select so that the
-- index of pending rows can be searched by it.
CREATE OR REPLACE FUNCTION ledger_finalize_stale(p_limit integer) RETURNS integer LANGUAGE sql AS $function$
  WITH stale AS MATERIALIZED (
    SELECT id FROM operations
      WHERE state = 'pending' AND lease_until <= (SELECT clock_timestamp())
      ORDER BY lease_until LIMIT p_limit FOR UPDATE SKIP LOCKED
  )
  SELECT count(*)::integer FROM stale WHERE ledger_finalize(id)
$function$;
