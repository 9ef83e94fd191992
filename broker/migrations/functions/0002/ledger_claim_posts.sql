-- The accepted calls whose message is due to be posted again, oldest first: p_id alone, or up to p_limit of all. Their
-- next turn is written first, so a second sweeper finds nothing to do; a message that then fails is due at that turn.
-- The time between turns is the call's age, within p_shortest and p_longest: a long queue is not filled with copies.
CREATE OR REPLACE FUNCTION ledger_claim_posts(
  p_id uuid, p_limit integer, p_shortest double precision, p_longest double precision
) RETURNS TABLE (operation_id uuid, tool text, task_id text) LANGUAGE sql AS $function$
  WITH due AS MATERIALIZED (
    SELECT id FROM operations
      WHERE state = 'accepted' AND post_at <= (SELECT clock_timestamp()) AND (p_id IS NULL OR id = p_id)
      ORDER BY post_at LIMIT p_limit FOR UPDATE SKIP LOCKED
  ), claimed AS (
    UPDATE operations o
      SET post_at = clock_timestamp() + make_interval(secs =>
        least(p_longest, greatest(p_shortest, extract(epoch FROM clock_timestamp() - o.accepted_at))))
      FROM due WHERE o.id = due.id AND o.state = 'accepted'
      RETURNING o.id, o.tool, o.task_id, o.accepted_at
  )
  SELECT c.id, c.tool, c.task_id FROM claimed c ORDER BY c.accepted_at, c.id
$function$;
