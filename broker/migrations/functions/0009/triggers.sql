-- What was decided stays decided.
CREATE TRIGGER truth_decisions_final BEFORE UPDATE OR DELETE ON truth_decisions FOR EACH ROW
  EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER truth_attachments_final BEFORE UPDATE OR DELETE ON truth_attachments FOR EACH ROW
  EXECUTE FUNCTION ledger_refuse_change();
