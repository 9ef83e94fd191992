-- Counts one admission that a budget refused, after the refusal rolled back. Without waiting for the disk: a crash may
-- lose the last second of this count and of nothing else, and a project that asks too often makes no queue of commits.
CREATE OR REPLACE FUNCTION ledger_deny(p_project text, p_family text, p_code text) RETURNS bigint
LANGUAGE plpgsql AS $function$
DECLARE
  counted bigint;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO denials AS d (project, family, code, count) VALUES (p_project, p_family, p_code, 1)
    ON CONFLICT (project, family, code) DO UPDATE SET count = d.count + 1
    RETURNING d.count INTO counted;
  RETURN counted;
END
$function$;
