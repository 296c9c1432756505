insert into events (title, place, day) values
  ('Seed swap', 'Town hall', '2027-03-06'),
  ('Walk to the old orchard', 'North gate', '2027-04-17'),
  ('Pruning for beginners', 'Garden 12', '2027-02-20');
