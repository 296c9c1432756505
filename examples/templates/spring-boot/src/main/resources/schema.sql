create table if not exists bookings (room text not null, day date not null, guest text not null, primary key (room, day));
