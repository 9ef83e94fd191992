-- The number of the folder's snapshot that holds this body: a new one, or the last one where it is the same already.
CREATE OR REPLACE FUNCTION ledger_truth_import(p_project text, p_folder text, p_body text, p_sha256 text) RETURNS integer
LANGUAGE plpgsql AS $function$
DECLARE
  newest truth_folders;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('folder ' || p_project || ' ' || p_folder, 0));
  SELECT * INTO newest FROM truth_folders WHERE project = p_project AND folder = p_folder ORDER BY snapshot DESC LIMIT 1;
  IF FOUND AND newest.sha256 = p_sha256 THEN
    RETURN newest.snapshot;
  END IF;
  INSERT INTO truth_folders (project, folder, snapshot, body, sha256, imported_at)
    VALUES (p_project, p_folder, coalesce(newest.snapshot, 0) + 1, p_body, p_sha256, clock_timestamp());
  RETURN coalesce(newest.snapshot, 0) + 1;
END
$function$;
