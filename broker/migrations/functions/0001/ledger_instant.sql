-- An instant as a JSON string: UTC, ISO 8601, milliseconds, as the workers write it.
CREATE OR REPLACE FUNCTION ledger_instant(at timestamptz) RETURNS text LANGUAGE sql STABLE AS $function$
  SELECT to_char(at AT TIME ZONE 'UTC', '"\""YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00\""')
$function$;
