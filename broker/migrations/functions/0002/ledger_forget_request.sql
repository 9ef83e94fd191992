-- Removes the sealed request of an operation that has just ended, in the transaction that ends it, whoever that is.
CREATE OR REPLACE FUNCTION ledger_forget_request() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  DELETE FROM requests WHERE operation_id = NEW.id;
  RETURN NULL;
END
$function$;
