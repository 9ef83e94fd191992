-- Ends up to p_limit accepted calls whose time is over, oldest first. SKIP LOCKED: two sweepers share the work, and a
-- worker that is admitting one is left alone. The sort comes after all rows are locked: chains are taken in one order,
-- whoever takes many (ledger_link).
CREATE OR REPLACE FUNCTION ledger_expire_accepted(p_limit integer) RETURNS integer LANGUAGE plpgsql AS $function$
DECLARE
  late uuid;
  moved integer := 0;
BEGIN
  FOR late IN
    WITH waiting AS MATERIALIZED (
      SELECT id, project, run, accept_until FROM operations
        WHERE state = 'accepted' AND accept_until <= (SELECT clock_timestamp())
        ORDER BY accept_until LIMIT p_limit FOR UPDATE SKIP LOCKED
    )
    SELECT id FROM waiting ORDER BY project COLLATE "C", run COLLATE "C", accept_until
  LOOP
    IF ledger_expire(late) THEN
      moved := moved + 1;
    END IF;
  END LOOP;
  RETURN moved;
END
$function$;
