-- Where processes of this installation serve the API on its machine, for the edge to lead to. One that was killed leaves its row, which counts no more after a
-- while.
create table api_processes (
  host text not null,
  port integer not null,
  seen_at timestamptz not null default clock_timestamp(),
  primary key (host, port)
);
