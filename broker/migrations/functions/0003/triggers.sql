-- A trigger and not a line in each function: a settle that was under way, in its old text, while this migration ran,
-- links its receipt too.
CREATE TRIGGER receipts_linked BEFORE INSERT ON receipts FOR EACH ROW EXECUTE FUNCTION ledger_link();
-- A chain grows by one and never shrinks.
CREATE TRIGGER chains_forward BEFORE UPDATE ON chains FOR EACH ROW
  WHEN (NEW.length <> OLD.length + 1 OR NEW.project <> OLD.project OR NEW.run <> OLD.run)
  EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER chains_kept BEFORE DELETE ON chains FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
