-- The terminal states are sinks as before; and the two that are not can only move forward.
DROP TRIGGER operations_final ON operations;
CREATE TRIGGER operations_final BEFORE UPDATE ON operations FOR EACH ROW
  WHEN (OLD.state NOT IN ('accepted', 'pending')
    OR (OLD.state = 'accepted' AND NEW.state NOT IN ('accepted', 'pending', 'refused', 'cancelled'))
    OR (OLD.state = 'pending' AND NEW.state IN ('accepted', 'refused')))
  EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER operations_forgotten AFTER UPDATE ON operations FOR EACH ROW
  WHEN (OLD.accepted_at IS NOT NULL AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION ledger_forget_request();
