-- Who shares a lane runs beside others that share it, and leaves what is there as it is; who does not has it alone. The order stays.
alter table activity_lanes add column is_shared boolean not null default false;
drop index activity_lanes_open;
create index activity_lanes_open on activity_lanes (project_id, lane, position) include (activity_id, lanes, is_shared) where is_open;
