-- Each list of teams and of access is read from an index, in the order it is asked for.

create index teams_label_all on teams (label, id);
create index teams_created_all on teams (created_at, id);
create index teams_updated_all on teams (updated_at, id);
create index team_members_updated on team_members (team_id, updated_at, user_id);

create index user_access_project_granted on user_access (project_id, granted_at, user_id);
create index user_access_project_updated on user_access (project_id, updated_at, user_id);
create index user_access_user_granted on user_access (user_id, granted_at, project_id);
create index user_access_user_updated on user_access (user_id, updated_at, project_id);

create index team_access_project_granted on team_access (project_id, granted_at, team_id);
create index team_access_project_updated on team_access (project_id, updated_at, team_id);
create index team_access_team_granted on team_access (team_id, granted_at, project_id);
create index team_access_team_updated on team_access (team_id, updated_at, project_id);
