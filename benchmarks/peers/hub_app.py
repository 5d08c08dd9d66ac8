"""A small requirements hub as one would write it today: FastAPI, SQLAlchemy's ORM, the official
MCP SDK; tokens are looked up by their hash, every write is audited in its transaction, and full
text is searched by the database.

    python -m benchmarks.peers.hub_app DATABASE_URL TOKEN
"""

# mypy: ignore-errors

from __future__ import annotations

import asyncio
import hashlib
import logging
import sys
import uuid
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field
from sqlalchemy import (
    DateTime,
    ForeignKey,
    String,
    Text,
    event,
    func,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship, selectinload

from benchmarks.hub.corpus import PER_STORY, requirements
from benchmarks.peers.uvicorn_server import run

URL, TOKEN = sys.argv[1], sys.argv[2]


class Base(DeclarativeBase):
    pass


def _uuid() -> str:
    return str(uuid.uuid4())


def _now() -> datetime:
    return datetime.now(UTC)


class User(Base):
    __tablename__ = "users"
    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=_uuid)
    username: Mapped[str] = mapped_column(String(50), unique=True)
    role: Mapped[str] = mapped_column(String(20))


class Token(Base):
    __tablename__ = "tokens"
    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=_uuid)
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    user: Mapped[User] = relationship(lazy="joined")


class UserStory(Base):
    __tablename__ = "user_stories"
    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=_uuid)
    reference_id: Mapped[str] = mapped_column(String(20), unique=True)
    title: Mapped[str] = mapped_column(String(500))


class Requirement(Base):
    __tablename__ = "requirements"
    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=_uuid)
    reference_id: Mapped[str] = mapped_column(String(20), unique=True)
    user_story_id: Mapped[str] = mapped_column(ForeignKey("user_stories.id"), index=True)
    title: Mapped[str] = mapped_column(String(500))
    description: Mapped[str] = mapped_column(Text)
    status: Mapped[str] = mapped_column(String(20), default="Draft")
    priority: Mapped[int] = mapped_column(default=3)
    version: Mapped[int] = mapped_column(default=1)
    creator_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), default=_now)
    updated_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), default=_now)
    user_story: Mapped[UserStory] = relationship()
    creator: Mapped[User] = relationship()


class Counter(Base):
    __tablename__ = "counters"
    kind: Mapped[str] = mapped_column(String(20), primary_key=True)
    last: Mapped[int]


class AuditEvent(Base):
    __tablename__ = "audit_events"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    time: Mapped[datetime] = mapped_column(DateTime(timezone=True), default=_now)
    user_id: Mapped[str]
    operation: Mapped[str]
    target: Mapped[str]


class RequirementOut(BaseModel):
    id: str
    reference_id: str
    user_story: str
    title: str
    description: str
    status: str
    priority: int
    version: int
    creator: str
    created_at: datetime
    updated_at: datetime


class Found(BaseModel):
    items: list[RequirementOut]
    total: int


engine = create_async_engine(URL)
sessions = async_sessionmaker(engine, expire_on_commit=False)
SQLITE = URL.startswith("sqlite")

if SQLITE:

    @event.listens_for(engine.sync_engine, "connect")
    def _pragmas(connection: Any, record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()


class Verifier:
    async def verify_token(self, token: str) -> AccessToken | None:
        hashed = hashlib.sha256(token.encode()).hexdigest()
        async with sessions() as session:
            found = await session.scalar(select(Token).where(Token.hash == hashed))
        if found is None:
            return None
        return AccessToken(token=token, client_id=found.user_id, scopes=[found.user.role])


mcp = MCPServer(
    "hub",
    token_verifier=Verifier(),
    auth=AuthSettings(
        issuer_url="http://127.0.0.1",
        resource_server_url="http://127.0.0.1/mcp",
        validate_token_resource=False,
    ),
)


def _out(found: Requirement) -> RequirementOut:
    return RequirementOut(
        id=found.id,
        reference_id=found.reference_id,
        user_story=found.user_story.reference_id,
        title=found.title,
        description=found.description,
        status=found.status,
        priority=found.priority,
        version=found.version,
        creator=found.creator.username,
        created_at=found.created_at,
        updated_at=found.updated_at,
    )


_WITH = (selectinload(Requirement.user_story), selectinload(Requirement.creator))


@mcp.tool()
async def get_requirement(id: str) -> RequirementOut:
    """One requirement, by its reference id."""
    async with sessions() as session:
        query = select(Requirement).where(Requirement.reference_id == id).options(*_WITH)
        found = await session.scalar(query)
    if found is None:
        raise ToolError(f"there is no requirement {id}")
    return _out(found)


@mcp.tool()
async def search_requirements(query: str, limit: int = Field(default=20, ge=1, le=100)) -> Found:
    """The requirements in which all words of a text occur."""
    words = " ".join(f'"{word}"' for word in query.replace('"', " ").split())
    async with sessions() as session:
        if SQLITE:
            matching = text(
                "SELECT rowid FROM requirements_text WHERE requirements_text MATCH :words "
                "ORDER BY rank LIMIT :most"
            )
            counting = text(
                "SELECT count(*) FROM requirements_text WHERE requirements_text MATCH :words"
            )
            rowids = (await session.scalars(matching, {"words": words, "most": limit})).all()
            total = await session.scalar(counting, {"words": words})
            chosen = literal_column("requirements.rowid").in_(rowids)
        else:
            vector = func.to_tsvector("english", Requirement.title + " " + Requirement.description)
            asked = func.websearch_to_tsquery("english", words)
            ranked = (
                select(Requirement.id)
                .where(vector.op("@@")(asked))
                .order_by(func.ts_rank(vector, asked).desc())
                .limit(limit)
            )
            counted = select(func.count()).select_from(Requirement).where(vector.op("@@")(asked))
            total = await session.scalar(counted)
            chosen = Requirement.id.in_((await session.scalars(ranked)).all())
        found = (await session.scalars(select(Requirement).where(chosen).options(*_WITH))).all()
    return Found(items=[_out(each) for each in found], total=total or 0)


@mcp.tool()
async def create_requirement(
    user_story_id: str,
    title: str = Field(min_length=1, max_length=500),
    description: str = Field(default="", max_length=50_000),
    priority: int = Field(default=3, ge=1, le=4),
) -> RequirementOut:
    """A new requirement of a user story."""
    caller = get_access_token()
    if caller is None or "User" not in caller.scopes:
        raise ToolError("you may not do this")
    async with sessions() as session, session.begin():
        story = await session.scalar(
            select(UserStory).where(UserStory.reference_id == user_story_id)
        )
        if story is None:
            raise ToolError(f"there is no user story {user_story_id}")
        number = await session.scalar(
            update(Counter)
            .where(Counter.kind == "requirement")
            .values(last=Counter.last + 1)
            .returning(Counter.last)
        )
        made = Requirement(
            reference_id=f"REQ-{number:03d}",
            user_story_id=story.id,
            title=title,
            description=description,
            priority=priority,
            creator_id=caller.client_id,
        )
        session.add(made)
        session.add(
            AuditEvent(
                user_id=caller.client_id, operation="create_requirement", target=made.reference_id
            )
        )
        await session.flush()
        if SQLITE:
            await session.execute(
                text(
                    "INSERT INTO requirements_text (rowid, title, description) SELECT rowid, "
                    "title, description FROM requirements WHERE id = :id"
                ),
                {"id": made.id},
            )
        await session.refresh(made, ["user_story", "creator"])
    return _out(made)


async def _fill(session: AsyncSession) -> None:
    user = User(username="bench", role="User")
    session.add(user)
    await session.flush()
    session.add(Token(hash=hashlib.sha256(TOKEN.encode()).hexdigest(), user_id=user.id))
    story = None
    for number, title, description in requirements():
        if number % PER_STORY == 1:
            place = number // PER_STORY + 1
            story = UserStory(reference_id=f"US-{place:03d}", title=f"Story {place}", id=_uuid())
            session.add(story)
            await session.flush()
        session.add(
            Requirement(
                reference_id=f"REQ-{number:03d}",
                user_story_id=story.id,
                title=title,
                description=description,
                creator_id=user.id,
            )
        )
    session.add(Counter(kind="requirement", last=number))


async def _prepare() -> None:
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    async with sessions() as session, session.begin():
        if await session.scalar(select(func.count()).select_from(User)):
            return
        await _fill(session)
        await session.flush()
        if SQLITE:
            await session.execute(
                text("CREATE VIRTUAL TABLE requirements_text USING fts5(title, description)")
            )
            await session.execute(
                text(
                    "INSERT INTO requirements_text (rowid, title, description) SELECT rowid, "
                    "title, description FROM requirements"
                )
            )
        else:
            await session.execute(
                text(
                    "CREATE INDEX requirements_text ON requirements USING gin "
                    "(to_tsvector('english', title || ' ' || description))"
                )
            )
    if not SQLITE:
        async with engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.execute(text("ANALYZE"))
    await engine.dispose()


served = mcp.streamable_http_app()


@asynccontextmanager
async def lifespan(app: FastAPI) -> Any:
    async with served.router.lifespan_context(served):
        yield
    await engine.dispose()


app = FastAPI(lifespan=lifespan)
app.mount("/", served)

if __name__ == "__main__":
    logging.disable(logging.WARNING)
    asyncio.run(_prepare())  # before it says its port
    run(app, lifespan="on")
