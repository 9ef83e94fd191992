-- accepted -> refused | cancelled, with its receipt; or the answer to whoever comes too late. Nothing was sent for it.
-- One statement guarded by the row's own state: of a worker that admits, a client that takes back and a sweeper that
-- gives up, the first wins.
-- The receipt is RFC 8785 canonical JSON, as in ledger_unknown_receipt; p_facts is a canonical object already.
CREATE OR REPLACE FUNCTION ledger_end_accepted(p_id uuid, p_state text, p_code text, p_message text, p_facts text)
RETURNS admission LANGUAGE plpgsql AS $function$
DECLARE
  op operations;
  answer admission;
  receipt text;
BEGIN
  UPDATE operations SET state = p_state, code = p_code, sent = 'not_sent', ended_at = clock_timestamp()
    WHERE id = p_id AND state = 'accepted'
    RETURNING * INTO op;
  IF NOT FOUND THEN
    SELECT * INTO op FROM operations WHERE id = p_id;
    IF NOT FOUND THEN
      answer.verdict := 'absent';
      RETURN answer;
    END IF;
    RETURN ledger_repeat(op, op.tool, op.arguments_digest, '');
  END IF;
  receipt := '{"accepted_at":' || ledger_instant(op.accepted_at)
    || ',"agent":' || to_json(op.agent)
    || ',"arguments_sha256":' || to_json(op.arguments_digest)
    || ',"call":' || to_json(op.key)
    || ',"document":[],"ended_at":' || ledger_instant(op.ended_at)
    || ',"error":{"code":' || to_json(op.code)
    || ',"facts":' || p_facts
    || ',"message":' || to_json(p_message)
    || '},"hops":[],"operation":' || to_json(op.id::text)
    || ',"project":' || to_json(op.project)
    || ',"receipt":"outrider/1","run":' || to_json(op.run)
    || ',"sent":"not_sent","state":' || to_json(op.state)
    || ',"step":' || to_json(op.step)
    || ',"tool":' || to_json(op.tool) || '}';
  INSERT INTO receipts (operation_id, body, digest, written_at)
    VALUES (op.id, receipt, 'sha-256=:' || encode(sha256(convert_to(receipt, 'UTF8')), 'base64') || ':', op.ended_at);
  RETURN ledger_repeat(op, op.tool, op.arguments_digest, '');
END
$function$;
