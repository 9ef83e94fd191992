-- Ends a call that was accepted and not admitted within its time; says whether it was this call that ended it.
-- `accept_until` never changes, so what was too late when it was read is too late under the row's lock.
CREATE OR REPLACE FUNCTION ledger_expire(p_id uuid) RETURNS boolean LANGUAGE plpgsql AS $function$
BEGIN
  PERFORM FROM operations WHERE id = p_id AND state = 'accepted' AND accept_until <= clock_timestamp();
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  RETURN (ledger_end_accepted(p_id, 'refused', 'not_admitted_in_time', 'No worker could admit this call in time.', '{}')).code
    IS NOT DISTINCT FROM 'not_admitted_in_time';
END
$function$;
