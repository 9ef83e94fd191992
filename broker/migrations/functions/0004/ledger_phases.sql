-- How long each phase of a call took, as its receipt says. libcurl counts from the start of a transfer, so a phase is the
-- distance to the one before it; 0 there means that it was never reached.
CREATE OR REPLACE FUNCTION ledger_phases(p_receipt text) RETURNS TABLE (phase text, seconds double precision)
LANGUAGE sql STABLE AS $function$
  WITH account AS MATERIALIZED (
    SELECT CASE WHEN pg_input_is_valid(p_receipt, 'jsonb') THEN p_receipt::jsonb END AS body
  ), told AS (
    SELECT 'call' AS phase, ledger_seconds(body, 'milliseconds') AS seconds FROM account
    UNION ALL
    SELECT 'extract', ledger_seconds(one, 'milliseconds') FROM account, jsonb_path_query(body, '$.extractions[*]') AS one
    UNION ALL
    SELECT step.phase, step.seconds
      FROM account, jsonb_path_query(body, '$.hops[*].milliseconds') AS one,
      LATERAL (SELECT ledger_seconds(one, 'dns') AS dns, nullif(ledger_seconds(one, 'connect'), 0) AS connected,
        nullif(ledger_seconds(one, 'tls'), 0) AS secured, nullif(ledger_seconds(one, 'first_byte'), 0) AS answered,
        ledger_seconds(one, 'total') AS ended) AS seen,
      LATERAL (VALUES ('dns', seen.dns), ('connect', seen.connected), ('tls', seen.secured - seen.connected),
        ('first_byte', seen.answered - coalesce(seen.secured, seen.connected)),
        ('transfer', seen.ended - seen.answered)) AS step (phase, seconds)
  )
  SELECT told.phase, greatest(told.seconds, 0) FROM told WHERE told.seconds IS NOT NULL
$function$;
