-- What the ledger knows of a call, for a reader: absent, running, or stored. One past its lease is finalized by this.
CREATE OR REPLACE FUNCTION ledger_find(p_project text, p_key text) RETURNS admission LANGUAGE plpgsql AS $function$
DECLARE
  op operations;
  answer admission;
BEGIN
  SELECT * INTO op FROM operations WHERE project = p_project AND key = p_key;
  IF FOUND THEN
    RETURN ledger_repeat(op, op.tool, op.arguments_digest, '');
  END IF;
  answer.verdict := 'absent';
  RETURN answer;
END
$function$;
