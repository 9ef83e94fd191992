-- What admit and settle answer: one row, of which the verdict says what is filled: lease, running, stored, absent
-- or settings_changed.
CREATE TYPE admission AS (
  verdict      text,
  operation_id uuid,
  task_id      text,
  generation   bigint,
  admitted_at  timestamptz,
  lease_until  timestamptz,
  seconds_left double precision,
  step_used    integer,
  run_used     integer,
  state        text,
  code         text,
  sent         text,
  body         text,
  digest       text
);
