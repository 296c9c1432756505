insert into bookings (room, day, guest)
  select room, day::date, guest
  from (values ('Elm', '2027-01-04', 'Katherine'), ('Elm', '2027-01-05', 'Dorothy'), ('Rowan', '2027-01-05', 'Mary')) as first (room, day, guest)
  where not exists (select from bookings);
