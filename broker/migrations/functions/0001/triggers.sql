CREATE TRIGGER operations_final BEFORE UPDATE ON operations FOR EACH ROW
  WHEN (OLD.state <> 'pending') EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER operations_kept BEFORE DELETE ON operations FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER receipts_final BEFORE UPDATE OR DELETE ON receipts FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER audit_final BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
