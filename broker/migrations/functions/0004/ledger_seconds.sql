-- A time of a receipt, in seconds; nothing where none was written. A receipt that was altered may hold anything there.
CREATE OR REPLACE FUNCTION ledger_seconds(p_times jsonb, p_name text) RETURNS double precision
LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE jsonb_typeof(p_times -> p_name) WHEN 'number'
    THEN least(greatest((p_times ->> p_name)::numeric, 0), 86400000)::double precision / 1000 END
$function$;
