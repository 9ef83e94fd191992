-- pending, past its lease -> outcome_unknown, with its receipt; says whether it was this call that moved it.
-- A settle that holds the row first wins: the guard is judged again on the row it leaves. The slot needs no hand: it
-- ended with the lease.
CREATE OR REPLACE FUNCTION ledger_finalize(p_id uuid) RETURNS boolean LANGUAGE plpgsql AS $function$
DECLARE
  op operations;
  receipt text;
BEGIN
  UPDATE operations
    SET state = 'outcome_unknown', code = 'research_outcome_unknown', sent = 'unknown', ended_at = clock_timestamp()
    WHERE id = p_id AND state = 'pending' AND lease_until <= clock_timestamp()
    RETURNING * INTO op;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  receipt := ledger_unknown_receipt(op);
  INSERT INTO receipts (operation_id, body, digest, written_at)
    VALUES (op.id, receipt, 'sha-256=:' || encode(sha256(convert_to(receipt, 'UTF8')), 'base64') || ':', op.ended_at);
  RETURN true;
END
$function$;
