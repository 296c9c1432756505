"""The relationship `database` of the configuration, as variables tell it."""

import os

from psycopg.conninfo import make_conninfo


def address() -> str:
    return make_conninfo(
        host=os.environ.get("DATABASE_HOST", "localhost"),
        port=os.environ.get("DATABASE_PORT", "5432"),
        dbname=os.environ.get("DATABASE_PATH", "sightings"),
        user=os.environ.get("DATABASE_USERNAME", "sightings"),
        password=os.environ.get("DATABASE_PASSWORD", ""),
    )
