-- The generation of a project's settings under which this agent may use this family now.
CREATE OR REPLACE FUNCTION ledger_permit(p_project text, p_family text, p_agent text) RETURNS bigint
LANGUAGE plpgsql AS $function$
DECLARE
  settings projects;
BEGIN
  SELECT * INTO settings FROM projects WHERE id = p_project;
  IF NOT FOUND OR NOT settings.enabled OR (p_family = 'fetch' AND NOT settings.fetch_enabled) THEN
    RAISE EXCEPTION USING ERRCODE = 'OR001', MESSAGE = 'capability_disabled';
  ELSIF p_agent <> ALL (settings.agents) THEN
    RAISE EXCEPTION USING ERRCODE = 'OR002', MESSAGE = 'agent_not_permitted';
  END IF;
  PERFORM FROM tool_lists WHERE project = p_project AND agent = p_agent AND p_family <> ALL (families);
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'OR002', MESSAGE = 'agent_not_permitted';
  END IF;
  RETURN settings.generation;
END
$function$;
