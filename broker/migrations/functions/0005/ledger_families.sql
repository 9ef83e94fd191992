-- The families of tools that an agent would be given if it began now: what ledger_permit would let through, as a list.
CREATE OR REPLACE FUNCTION ledger_families(p_project text, p_agent text) RETURNS text[] LANGUAGE sql STABLE AS $function$
  SELECT coalesce(array_agg(f.name ORDER BY f.place), '{}')
    FROM projects p CROSS JOIN unnest(ARRAY['search', 'fetch']) WITH ORDINALITY AS f (name, place)
    LEFT JOIN tool_lists l ON l.project = p.id AND l.agent = p_agent
    WHERE p.id = p_project AND p.enabled AND p_agent = ANY (p.agents) AND (p.fetch_enabled OR f.name <> 'fetch')
      AND (l.agent IS NULL OR f.name = ANY (l.families))
$function$;
