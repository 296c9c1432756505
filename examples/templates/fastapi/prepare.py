"""Run by each deployment: makes the table, and fills it the first time."""

import psycopg

from database import address

FIRST = [("Kingfisher", "the mill pond", 1), ("Swift", "above the station", 40), ("Dunnock", "the hedge", 2)]

with psycopg.connect(address()) as database:
    database.execute(
        """create table if not exists sightings (
             id bigint generated always as identity primary key, bird text not null, place text not null,
             count integer not null check (count > 0), at timestamptz not null default now())"""
    )
    if database.execute("select not exists (select from sightings)").fetchone() == (True,):
        with database.cursor() as cursor:
            cursor.executemany("insert into sightings (bird, place, count) values (%s, %s, %s)", FIRST)
print("The sightings are ready")
