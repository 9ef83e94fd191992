-- Gives a new receipt its place in its run's chain, in the transaction that ends the operation, whoever ends it: settle,
-- finalize, refusal, expiry. One statement, one row, found by its key and rewritten in place.
--
-- Why it cannot deadlock: the chain's row is the last lock that any transaction waits for. The whole order is: the
-- call's mutex, the operation's row, its slot, the chain's row. A transaction that ends many operations holds their rows
-- first, without having waited for any, and then takes the chains in the order of (project, run), by bytes. Admission
-- takes no chain: pacing and counters, which it waits for, are never waited for by whoever holds one.
CREATE OR REPLACE FUNCTION ledger_link() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  INSERT INTO chains AS c (project, run, length, head)
    SELECT o.project, o.run, 1, ledger_follow(ledger_genesis(o.project, o.run), NEW.digest)
      FROM operations o WHERE o.id = NEW.operation_id
    ON CONFLICT (project, run) DO UPDATE SET length = c.length + 1, head = ledger_follow(c.head, NEW.digest)
    RETURNING c.length, c.head INTO NEW.position, NEW.link;
  RETURN NEW;
END
$function$;
