-- Finalizes up to p_limit operations past their lease, oldest first. SKIP LOCKED: two finalizers share the work, and a
-- settle under way is left alone. The clock stands in a sub-select so that the index of pending rows can be searched by
-- it. The sort comes after all rows are locked: chains are taken in one order, whoever takes many (ledger_link).
CREATE OR REPLACE FUNCTION ledger_finalize_stale(p_limit integer) RETURNS integer LANGUAGE plpgsql AS $function$
DECLARE
  late uuid;
  moved integer := 0;
BEGIN
  FOR late IN
    WITH stale AS MATERIALIZED (
      SELECT id, project, run, lease_until FROM operations
        WHERE state = 'pending' AND lease_until <= (SELECT clock_timestamp())
        ORDER BY lease_until LIMIT p_limit FOR UPDATE SKIP LOCKED
    )
    SELECT id FROM stale ORDER BY project COLLATE "C", run COLLATE "C", lease_until
  LOOP
    IF ledger_finalize(late) THEN
      moved := moved + 1;
    END IF;
  END LOOP;
  RETURN moved;
END
$function$;
