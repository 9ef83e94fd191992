-- Receipts that were written before there were chains are linked in the order in which they were written, run by run.
-- What was done to them before this instant, a chain cannot tell. Their trigger lets nobody change them, so it rests
-- meanwhile; the table is locked by ALTER TABLE until the migration commits.
ALTER TABLE receipts DISABLE TRIGGER receipts_final;
DO $backfill$
DECLARE
  old record;
  chain chains;
BEGIN
  FOR old IN
    SELECT r.operation_id, r.digest, o.project, o.run FROM receipts r JOIN operations o ON o.id = r.operation_id
      ORDER BY o.project, o.run, r.written_at, r.operation_id
  LOOP
    IF (old.project, old.run) IS DISTINCT FROM (chain.project, chain.run) THEN
      IF chain.length > 0 THEN
        INSERT INTO chains VALUES (chain.*);
      END IF;
      chain := (old.project, old.run, 0, ledger_genesis(old.project, old.run));
    END IF;
    chain.length := chain.length + 1;
    chain.head := ledger_follow(chain.head, old.digest);
    UPDATE receipts SET position = chain.length, link = chain.head WHERE operation_id = old.operation_id;
  END LOOP;
  IF chain.length > 0 THEN
    INSERT INTO chains VALUES (chain.*);
  END IF;
END
$backfill$;
ALTER TABLE receipts ENABLE TRIGGER receipts_final, ALTER COLUMN position SET NOT NULL, ALTER COLUMN link SET NOT NULL;
