-- Requests for help, and what was said about them.
create table tickets (
  id integer generated always as identity primary key,
  type text not null,
  category text not null,
  priority text not null,
  status text not null default 'new',
  subject text not null,
  description text not null,
  requester_id uuid not null references users on delete cascade,
  submitter_id uuid references users on delete set null,
  -- The operator who takes care of it.
  assignee_id uuid references users on delete set null,
  organization_id text references organizations on delete set null,
  project_id text references projects on delete set null,
  followup_id integer references tickets on delete set null,
  affected_url text not null default '',
  has_incidents boolean not null default false,
  due timestamptz,
  -- Where a help desk has it.
  help_desk_url text not null default '',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  -- When support answered first, and when it was solved.
  responded_at timestamptz,
  resolved_at timestamptz
);
create index tickets_requester on tickets (requester_id, created_at);
create index tickets_created on tickets (created_at, id);

create table ticket_collaborators (
  ticket_id integer not null references tickets on delete cascade,
  user_id uuid not null references users on delete cascade,
  primary key (ticket_id, user_id)
);
create index ticket_collaborators_user on ticket_collaborators (user_id);

create table ticket_comments (
  id integer generated always as identity primary key,
  ticket_id integer not null references tickets on delete cascade,
  -- Null: the operator at the machine, or somebody who is gone.
  author_id uuid references users on delete set null,
  is_answer boolean not null,
  text text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index ticket_comments_ticket on ticket_comments (ticket_id, id);

create table ticket_attachments (
  id integer generated always as identity primary key,
  ticket_id integer not null references tickets on delete cascade,
  -- Null: it came with the ticket itself.
  comment_id integer references ticket_comments on delete cascade,
  filename text not null,
  content bytea not null,
  created_at timestamptz not null default clock_timestamp()
);
create index ticket_attachments_ticket on ticket_attachments (ticket_id, id);
