-- Files of tickets are kept in the data folder, under this name. What came before is in `content` until the platform has moved it there.
alter table ticket_attachments add file uuid unique, add size integer, alter content drop not null;
update ticket_attachments set size = length(content);
alter table ticket_attachments alter size set not null,
  add constraint ticket_attachments_somewhere check (num_nonnulls(file, content) = 1);
