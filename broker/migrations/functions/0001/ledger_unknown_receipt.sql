-- The receipt of an operation whose end nobody knows, as RFC 8785 canonical JSON: names sorted, no white space. The
-- names are those of the workers' receipts; no hop is known.
-- to_json(text) escapes exactly as RFC 8785 asks: short forms where there are any, \u00xx in lower case, nothing else.
CREATE OR REPLACE FUNCTION ledger_unknown_receipt(op operations) RETURNS text LANGUAGE sql STABLE AS $function$
  SELECT '{"admitted_at":' || ledger_instant(op.admitted_at)
    || ',"agent":' || to_json(op.agent)
    || ',"arguments_sha256":' || to_json(op.arguments_digest)
    || ',"call":' || to_json(op.key)
    || ',"document":[],"ended_at":' || ledger_instant(op.ended_at)
    || ',"error":{"code":' || to_json(op.code)
    || ',"facts":{},"message":"Whether a request was sent for this call is unknown."},"hops":[],"operation":'
    || to_json(op.id::text)
    || ',"project":' || to_json(op.project)
    || ',"receipt":"outrider/1","run":' || to_json(op.run)
    || ',"sent":' || to_json(op.sent)
    || ',"state":' || to_json(op.state)
    || ',"step":' || to_json(op.step)
    || ',"tool":' || to_json(op.tool) || '}'
$function$;
