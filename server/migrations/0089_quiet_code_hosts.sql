-- Until when a code host that limits requests wants to be left alone; news of it waits meanwhile.
alter table code_mirrors add column quiet_until timestamptz;
