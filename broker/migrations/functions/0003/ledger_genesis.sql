-- What the first receipt of a run follows: the digest of a canonical object that names the run. No two runs share it.
CREATE OR REPLACE FUNCTION ledger_genesis(p_project text, p_run text) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT 'sha-256=:' || encode(sha256(convert_to(
    '{"chain":"outrider/1","project":' || to_json(p_project) || ',"run":' || to_json(p_run) || '}', 'UTF8')), 'base64') || ':'
$function$;
