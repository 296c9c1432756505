"""Birds that were seen: as JSON at /sightings, described at /docs, and as a page."""

import os
from contextlib import asynccontextmanager
from html import escape
from typing import Annotated

from fastapi import FastAPI, Form
from fastapi.responses import HTMLResponse, RedirectResponse
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel, Field

from database import address

pool = AsyncConnectionPool(address(), open=False, min_size=1, max_size=5, kwargs={"row_factory": dict_row})


@asynccontextmanager
async def lifespan(_: FastAPI):
    async with pool:
        yield


app = FastAPI(title="Sightings", lifespan=lifespan)


class Sighting(BaseModel):
    bird: str = Field(max_length=100)
    place: str = Field(max_length=100)
    count: int = Field(gt=0, lt=1_000_000)


@app.get("/sightings")
async def sightings() -> list[Sighting]:
    async with pool.connection() as database:
        rows = await database.execute("select bird, place, count from sightings order by id desc limit 100")
        return [Sighting(**row) for row in await rows.fetchall()]


@app.post("/sightings", status_code=201)
async def add(sighting: Sighting) -> Sighting:
    async with pool.connection() as database:
        await database.execute("insert into sightings (bird, place, count) values (%(bird)s, %(place)s, %(count)s)", sighting.model_dump())
    return sighting


@app.post("/", include_in_schema=False)
async def add_by_form(sighting: Annotated[Sighting, Form()]) -> RedirectResponse:
    await add(sighting)
    return RedirectResponse("/", status_code=303)


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sightings</title>
<style>body {{ font: 1.1em/1.6 system-ui; max-width: 40em; margin: 2em auto; padding: 0 1em }}</style>
<h1>Birds seen from {branch}</h1>
<form method="post">
  <input name="bird" required placeholder="Bird"> <input name="place" required placeholder="Place">
  <input name="count" type="number" min="1" value="1"> <button>Seen</button>
</form>
<ul>{rows}</ul>
<p><a href="/docs">The same as an API</a></p>
"""


@app.get("/", include_in_schema=False)
async def page() -> HTMLResponse:
    rows = "".join(f"<li>{each.count} × {escape(each.bird)}, {escape(each.place)}</li>" for each in await sightings())
    return HTMLResponse(PAGE.format(branch=escape(os.environ.get("PLATFORM_BRANCH", "nowhere")), rows=rows))
