-- The link of a receipt: SHA-256 over the text of the link before it and, right behind, the text of its own digest. Both
-- texts are RFC 9530 digests of 54 ASCII characters, so where one ends is never in doubt.
CREATE OR REPLACE FUNCTION ledger_follow(p_link text, p_digest text) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT 'sha-256=:' || encode(sha256(convert_to(p_link || p_digest, 'UTF8')), 'base64') || ':'
$function$;
