-- What a reservation takes: under which settings, which slot, and how much is used with it.
CREATE TYPE reservation AS (
  generation bigint,
  slot       integer,
  run_used   integer,
  step_used  integer
);

-- What a worker is given that opens an accepted operation. Only with the verdict `accepted` is more filled than the
-- answer; `absent` stands for an id that is no accepted call of this tool.
CREATE TYPE opening AS (
  answer           admission,
  project          text,
  key              text,
  agent            text,
  run              text,
  step             text,
  arguments_digest text,
  waited_seconds   double precision,
  sealed           bytea
);
