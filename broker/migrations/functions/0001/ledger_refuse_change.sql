-- Terminal operations, receipts and audit rows are sinks: whoever tries to change one is told no, whatever role it has.
CREATE OR REPLACE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'OR020', MESSAGE = 'row_is_final', DETAIL = json_build_object('table', TG_TABLE_NAME)::text;
END
$function$;
