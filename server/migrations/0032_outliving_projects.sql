-- Slugs and backups name what lies on a disk. They go when that was removed, not when their project does: an organization that is deleted takes its deleted
-- projects with it at once, and reconcilers find what is left of them.
alter table slugs drop constraint slugs_project_id_fkey;
alter table backups drop constraint backups_project_id_fkey;
