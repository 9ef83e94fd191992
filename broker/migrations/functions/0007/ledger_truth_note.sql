-- Writes down the state that a run came to.
CREATE OR REPLACE FUNCTION ledger_truth_note() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  INSERT INTO truth_moves (run, state, code, at) VALUES (NEW.id, NEW.state, NEW.code, clock_timestamp());
  RETURN NULL;
END
$function$;
