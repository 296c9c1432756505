create table events (id bigint generated always as identity primary key, title text not null, place text not null, day date not null);
