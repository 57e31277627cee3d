"""The page's server as an application: what is asked where. docs/reference/page.md describes it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException as AnyHttpException
from starlette.types import ASGIApp

from slotwise import __version__
from slotwise.control_file import change_control
from slotwise.dashboard import controlling
from slotwise.dashboard.access import Access
from slotwise.dashboard.document import (
    control_file,
    control_of,
    history_data,
    run_data,
    run_document,
)
from slotwise.dashboard.guard import Guard, policy
from slotwise.dashboard.news import Newsroom
from slotwise.dashboard.what_if import Busy, Question, WhatIf
from slotwise.json_data import json_data
from slotwise.model import SlotwiseError
from slotwise.runs.reading import KeptRun, Runs
from slotwise.runs.store import Unusable

PAGE = Path(str(files("slotwise.dashboard") / "page"))
GRAFANA = Path(str(files("slotwise.dashboard") / "grafana.json"))
NOTHING_TO_SHOW = "the page's third-party files are missing: run python hatch_build.py\n"
MOST_POINTS = 5000


class Wish(BaseModel):
    """What is to be said in the control file; what is left out stays."""

    model_config = ConfigDict(extra="forbid")
    hold: bool | None = None
    forbid: list[Literal["re-place", "re-plan"]] | None = None
    force: int | Annotated[str, Field(max_length=100)] | None = None
    """The number of a plan of the run, or the id of a what-if."""


class Asked(BaseModel):
    """A what-if."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    rate: Annotated[float, Field(gt=0)] | None = None
    allocator: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    placer: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    machines: Annotated[int, Field(gt=0, le=10_000)] | None = None


@dataclass
class Server:
    """What the requests share."""

    path: Path
    """The file of runs."""
    access: Access
    only: tuple[int, ...] | None = None
    """The runs that are shown; None: all."""
    newsroom: Newsroom = field(init=False)
    what_if: WhatIf = field(default_factory=WhatIf)

    def __post_init__(self) -> None:
        self.newsroom = Newsroom(self.path)

    @contextmanager
    def runs(self) -> Iterator[Runs]:
        with Runs.opened(self.path) as runs:
            yield runs

    def run(self, runs: Runs, name: str) -> KeptRun:
        """Raises HTTPException for one that is not shown."""
        try:
            found = runs.run(name)
        except SlotwiseError as error:
            raise HTTPException(404, str(error)) from None
        if self.only is not None and found.id not in self.only:
            raise HTTPException(404, f"run {found.id} is not shown here")
        return found

    @cached_property
    def policy(self) -> str:
        index = PAGE / "index.html"
        return policy(index.read_text(encoding="utf-8") if index.is_file() else "")


def application(server: Server) -> ASGIApp:
    """With the guard around it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(server.newsroom.watch())
        yield
        server.newsroom.end()
        server.what_if.end()
        await watching

    app = FastAPI(
        title="Slotwise",
        version=__version__,
        docs_url=None,  # they load scripts from outside addresses
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
    )
    _add_errors(app)
    _add_reading(app, server)
    _add_changing(app, server)
    _add_files(app)
    return Guard(app, server.access, server.policy)


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(AnyHttpException)
    def refused(_: Request, error: AnyHttpException) -> Response:
        return JSONResponse({"problem": str(error.detail)}, error.status_code)

    @app.exception_handler(RequestValidationError)
    def not_understood(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        return JSONResponse({"problem": f"{where or 'the request'}: {first['msg']}"}, 422)

    @app.exception_handler(Busy)
    def busy(_: Request, error: Busy) -> Response:
        return JSONResponse({"problem": str(error)}, 429)

    @app.exception_handler(SlotwiseError)
    def failed(_: Request, error: SlotwiseError) -> Response:
        return JSONResponse({"problem": str(error)}, 422)

    @app.exception_handler(Unusable)
    def unusable(_: Request, error: Unusable) -> Response:
        return JSONResponse({"problem": str(error)}, 503)

    @app.exception_handler(sqlite3.Error)
    def unreadable(_: Request, error: sqlite3.Error) -> Response:
        return JSONResponse({"problem": f"the file of runs cannot be read ({error})"}, 503)


def _add_reading(app: FastAPI, server: Server) -> None:
    @app.get("/healthz")
    def healthz() -> dict[str, str]:
        with server.runs() as runs:
            runs.all()
        return {"status": "ok", "slotwise": __version__}

    @app.get("/metrics")
    def metrics() -> Response:
        from slotwise.dashboard.metrics import metrics as made

        text = made(server.path, server.only)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/api/access")
    async def access(request: Request) -> dict[str, bool]:
        """Whether the request's token is the right one."""
        if allowed := server.access.has_token(request.headers):
            server.what_if.warm_up()
        return {"token": allowed}

    @app.get("/api/runs")
    def all_runs() -> list[dict[str, Any]]:
        with server.runs() as runs:
            shown = [run for run in runs.all() if server.only is None or run.id in server.only]
        return [run_data(run) for run in shown]

    @app.get("/api/runs/{name}")
    def document(name: str, at: float | None = None) -> Response:
        with server.runs() as runs:
            return JSONResponse(json_data(run_document(runs, server.run(runs, name).id, at)))

    @app.get("/api/runs/{name}/plans/{number}")
    def plan(name: str, number: int) -> Response:
        with server.runs() as runs:
            try:
                text = runs.plan_text(server.run(runs, name).id, number)
            except SlotwiseError as error:
                raise HTTPException(404, str(error)) from None
        return Response(text, media_type="application/json")

    @app.get("/api/runs/{name}/history")
    def history(
        name: str,
        since: float = 0.0,
        until: float = 1e18,
        points: Annotated[int, Query(ge=1, le=MOST_POINTS)] = 600,
        slot_cpu: bool = True,
    ) -> Response:
        with server.runs() as runs:
            run = server.run(runs, name)
            return JSONResponse(history_data(runs, run.id, since, until, points, slot_cpu))

    @app.get("/api/runs/{name}/events")
    async def events(request: Request, name: str, after: int | None = None) -> Response:
        """Server-sent events from a version of the run on; without one, from now on."""
        run = await asyncio.to_thread(_kept, server, name)
        given = request.headers.get("last-event-id", "")
        cursor = int(given) if given.isdecimal() else run.version if after is None else after
        stream = server.newsroom.events(run.id, cursor)
        return StreamingResponse(stream, media_type="text/event-stream")


def _kept(server: Server, name: str) -> KeptRun:
    with server.runs() as runs:
        return server.run(runs, name)


def _add_changing(app: FastAPI, server: Server) -> None:
    @app.post("/api/runs/{name}/control")
    def control(name: str, wish: Wish) -> Mapping[str, Any]:
        """Hold or forbid changes, or force one."""
        run = _kept(server, name)
        file = control_file(run)
        if file is None:
            raise HTTPException(409, _why_not(run))
        said: dict[str, Any] = {}
        if wish.hold is not None:
            said["hold"] = wish.hold
        if wish.forbid is not None:
            said["forbid"] = frozenset(wish.forbid)
        if "force" in wish.model_fields_set:
            said["force"] = controlling.forced(file, _wanted(server, run, wish.force))
        change_control(file, **said)
        found: Mapping[str, Any] = json_data(control_of(run))
        return found

    @app.post("/api/runs/{name}/what-if")
    async def what_if(name: str, asked: Asked) -> Response:
        """A plan for another rate, other algorithms or other machines."""
        text = await asyncio.to_thread(_plan_text, server, name)
        question = Question(**asked.model_dump())
        return JSONResponse(await server.what_if.ask(text, question))


def _wanted(server: Server, run: KeptRun, force: int | str | None) -> str | None:
    """The plan to change to, as JSON. Raises SlotwiseError."""
    if force is None:
        return None
    if isinstance(force, str):
        return server.what_if.kept(force)
    with server.runs() as runs:
        return runs.plan_text(run.id, force)


def _plan_text(server: Server, name: str) -> str:
    with server.runs() as runs:
        run = server.run(runs, name)
        return runs.plan_text(run.id, run.plan)


def _why_not(run: KeptRun) -> str:
    if run.state != "running":
        return f"run {run.id} is over"
    return f"run {run.id} has no controller: start it with --controller or --apply"


def _add_files(app: FastAPI) -> None:
    @app.get("/grafana.json")
    def grafana() -> Response:
        return FileResponse(GRAFANA, media_type="application/json")

    if (PAGE / "index.html").is_file() and (PAGE / "vendor" / "npm.json").is_file():
        app.mount("/", _Scripts(directory=PAGE, html=True))
    else:

        @app.get("/")
        def nothing() -> Response:
            return PlainTextResponse(NOTHING_TO_SHOW, 503)


class _Scripts(StaticFiles):
    """A bare machine may not know what .js is, and browsers then run no modules."""

    def file_response(self, full_path: Any, *rest: Any, **more: Any) -> Response:
        answer = super().file_response(full_path, *rest, **more)
        if str(full_path).endswith(".js"):
            answer.headers["content-type"] = "text/javascript; charset=utf-8"
        return answer
