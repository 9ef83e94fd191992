-- A run's states only move forward, through every one of them, and what it was prepared with never changes.
CREATE TRIGGER truth_runs_forward BEFORE UPDATE ON truth_runs FOR EACH ROW
  WHEN (OLD.ended_at IS NOT NULL
    OR (OLD.state = 'prepared' AND NEW.state NOT IN ('launching', 'unavailable', 'failed'))
    OR (OLD.state = 'launching' AND NEW.state NOT IN ('running', 'unavailable', 'failed'))
    OR (OLD.state = 'running' AND NEW.state NOT IN ('completed', 'unavailable', 'failed'))
    OR (OLD.id, OLD.project, OLD.call, OLD.arguments_digest, OLD.session, OLD.folder, OLD.snapshot, OLD.document, OLD.passage,
        OLD.selector, OLD.context_sha256, OLD.created_at, OLD.deadline_at)
      IS DISTINCT FROM (NEW.id, NEW.project, NEW.call, NEW.arguments_digest, NEW.session, NEW.folder, NEW.snapshot,
        NEW.document, NEW.passage, NEW.selector, NEW.context_sha256, NEW.created_at, NEW.deadline_at))
  EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER truth_runs_kept BEFORE DELETE ON truth_runs FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER truth_runs_noted AFTER INSERT OR UPDATE ON truth_runs FOR EACH ROW EXECUTE FUNCTION ledger_truth_note();
CREATE TRIGGER truth_moves_final BEFORE UPDATE OR DELETE ON truth_moves FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER truth_outputs_final BEFORE UPDATE OR DELETE ON truth_outputs FOR EACH ROW
  EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER truth_folders_final BEFORE UPDATE OR DELETE ON truth_folders FOR EACH ROW
  EXECUTE FUNCTION ledger_refuse_change();
