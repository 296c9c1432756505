-- Apps whose image is not one of the catalogue: which image their slug was made with, by its digest, and how it wants to be run.
alter table slugs add image jsonb;
