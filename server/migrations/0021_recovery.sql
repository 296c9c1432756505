-- When the installation itself was last backed up, as opposed to what its environments keep.

alter table installation add column backed_up_at timestamptz;
