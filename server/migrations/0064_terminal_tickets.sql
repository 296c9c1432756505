-- A terminal in a browser comes over a WebSocket, whose request carries no access token: it shows a ticket in its place. Each lets in once, within seconds.
create table terminal_tickets (
  -- Of the ticket itself, which nobody but its holder has.
  fingerprint text primary key,
  -- Who asked for it, as their access token said.
  proof jsonb not null,
  -- Where it leads, under the name by which SSH knows it.
  destination text not null,
  expires_at timestamptz not null
);
create index terminal_tickets_expires_at on terminal_tickets (expires_at);
