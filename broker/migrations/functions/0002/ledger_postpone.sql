-- Tells the sweeper when to look again at a call that its worker has put off; gives whether it is still accepted.
CREATE OR REPLACE FUNCTION ledger_postpone(p_id uuid, p_seconds double precision) RETURNS boolean
LANGUAGE plpgsql AS $function$
BEGIN
  UPDATE operations SET post_at = clock_timestamp() + make_interval(secs => p_seconds)
    WHERE id = p_id AND state = 'accepted';
  RETURN FOUND;
END
$function$;
