-- Counts one reservation; gives how many are used with it. A full counter never falls, so it is refused without a lock.
CREATE OR REPLACE FUNCTION ledger_count(p_project text, p_family text, p_scope text, p_name text, p_max integer)
RETURNS integer LANGUAGE plpgsql AS $function$
DECLARE
  used_now integer;
BEGIN
  INSERT INTO counters AS c (project, family, scope, name, used)
    SELECT p_project, p_family, p_scope, p_name, 1 WHERE p_max >= 1
    ON CONFLICT (project, family, scope, name) DO UPDATE SET used = c.used + 1 WHERE c.used < p_max
    RETURNING c.used INTO used_now;
  IF NOT FOUND THEN
    PERFORM ledger_refuse_full(p_scope, p_max);
  END IF;
  RETURN used_now;
END
$function$;
