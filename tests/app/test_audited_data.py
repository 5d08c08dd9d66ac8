"""What somebody changes in the data with SQL, past all operations, is found and named."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from msgspec import Struct
from msgspec.structs import replace

from accord.app.composition import EVENT_KINDS, RECORDERS, all_operations, data_checks
from accord.app.runtime import AUDIT_PURPOSE, Runtime, open_runtime, server_key
from accord.app.settings import Settings
from accord.hub.demo_project import demo_operation
from accord.hub.domain.rules import AcceptancePolicy
from accord.operations.arguments import convert
from accord.operations.audit.record import Chain
from accord.operations.audit.verify import AuditFinding, VerificationReport, verify, verify_snapshot
from accord.operations.auth.storage import days_after
from accord.operations.context import Caller, utc_now
from accord.operations.runner import Runner
from accord.store import Transaction, open_store
from accord.store.store import Engine
from accord.workflows.triggers.events import Events

KEY = "a key of the tests that is long enough for everything that is derived from it"
PASSWORD = "correct horse battery"
GUARDED = ("audit_states", "audit_records", "audit_seals", "baselines", "baseline_entries")


class Installation:
    """A hub with something of every kind, and who works in it."""

    def __init__(self, local: Runtime, settings: Settings, ada: Caller) -> None:
        self.local = local
        self.ada = ada
        self.robot = replace(ada, via="token", token_id="t", scopes=frozenset({"admin", "run"}))
        self.key = server_key(settings).derive(AUDIT_PURPOSE)

    async def do(self, name: str, /, caller: Caller | None = None, **arguments: Any) -> Any:
        registry = self.local.runner.registry
        operation = demo_operation() if name == "load_demo" else registry[name]
        run = self.local.runner.run
        return (await run(operation, convert(operation, arguments), caller or self.ada)).result

    async def verify(self) -> VerificationReport:
        await self.local.trail.flush()
        return await verify(self.local.store, self.key, checks=data_checks())


@asynccontextmanager
async def installed(url: str, folder: Path) -> AsyncIterator[Installation]:
    shared = url.startswith("postgresql")
    settings = Settings(
        data=str(folder), database=url if shared else "", secret_key=KEY if shared else ""
    )
    async with open_runtime(settings) as local:
        await local.accounts.first_run()
        user = (await local.run("create_user", username="ada", role="Administrator")).result
        ada = Caller(
            user_id=user.id, username="ada", role="Administrator", via="session", face="rest"
        )
        yield Installation(local, settings, ada)


async def furnish(here: Installation) -> None:
    """Do a bit of everything: what is created, changed, deleted, undone, imported, kept."""
    do = here.do
    await do("load_demo")
    await do("create_user", username="uma", password=PASSWORD, email="uma@example.org")
    await do("update_user", id="uma", email="u@example.org")
    await do("set_password", id="uma", password=f"{PASSWORD} again")
    await here.local.accounts.sign_in("uma", f"{PASSWORD} again")
    for name in ("lost", "kept"):
        await do("create_token", name=name, scopes=["read"])
    await do("revoke_token", id="lost")
    url = "https://agents.invalid/"
    await do("create_agent", name="reviewer", url=url)
    await do("create_agent", name="gone", url=url)
    await do("update_agent", name="reviewer", timeout=10)
    await do("delete_agent", name="gone")
    step = {"name": "pause", "type": "wait", "for": 3600}
    on = [{"schedule": "0 3 * * *"}]
    for text in ("one", "two"):
        nightly = {"name": "nightly", "on": on, "description": text, "steps": [step]}
        await do("create_workflow", here.robot, definition=nightly)
    await do("update_workflow", name="nightly@1", active=False)
    await do("run_workflow", name="nightly")
    steps = [{"operation": "update_epic", "arguments": {"id": "EP-003", "title": "Renamed"}}]
    made = await do(
        "propose_changes",
        replace(here.ada, via="token", token_id="t", scopes=frozenset({"propose"})),
        steps=steps,
        reason="It is late",
    )
    await do("accept_proposal", id=made.id)
    await do("propose_changes", steps=steps, reason="Again")
    await do("create_epic", title="Mistake")
    mistake = await do("create_epic", title="Another mistake")
    await do("delete_epic", id=mistake.id)
    label = await do("create_label", name="later")
    await do("label_item", id="EP-001", label=label.id)
    await do("create_steering_document", title="How we write")
    await do("update_requirement", id="REQ-001", title="It is quick")
    edited = await do("update_requirement", id="REQ-001", title="It is quicker")
    await do("undo", change_id=edited.change_id)
    await do("suppress_lint", id="REQ-001", rule="vague-word", reason="Meant so")
    await do("create_view", name="Mine", filter={})
    await do("update_requirement_type", name="Data", description="What is stored")
    await do("create_requirement_type", name="Legal")
    await do("import_items", format="markdown", content="## EP-900: An epic from a file\n")
    await do("create_baseline", name="Of one", epic_id="EP-001")
    await do("move_item", id="REQ-002", before="REQ-001")
    await here.local.run("create_token", user="ada", name="short", expires_in=1)
    runner = here.local.runner
    runner.now, now = lambda: days_after(utc_now(), 2), runner.now
    await here.local.run("create_token", user="ada", name="short")  # the other has expired
    runner.now = now


class Attack(Struct, frozen=True):
    """Statements, and what they are found as: a kind and a field, or a part of the detail."""

    sql: str
    kind: str
    field: str = ""
    detail: str = ""


REQ = "(SELECT id FROM items WHERE reference_id = 'REQ-001')"
ATTACKS: tuple[Attack, ...] = (
    Attack("UPDATE items SET title = 'x' WHERE reference_id = 'REQ-001'", "requirement", "title"),
    Attack(
        "UPDATE items SET description = description || '!' WHERE reference_id = 'US-001'",
        *("user_story", "description"),
    ),
    Attack("UPDATE items SET status = 'Done' WHERE reference_id = 'EP-001'", "epic", "status"),
    Attack("UPDATE items SET version = 99 WHERE reference_id = 'EP-001'", "epic", "version"),
    Attack(
        f"UPDATE items SET creator_id = (SELECT id FROM users WHERE username = 'uma') "
        f"WHERE id = {REQ}",
        "requirement",
        "creator_id",
    ),
    Attack(
        "DELETE FROM comments WHERE id = (SELECT MAX(id) FROM comments c WHERE NOT EXISTS "
        "(SELECT 1 FROM comments r WHERE r.reply_to = c.id))",
        "comment",
        detail="is gone",
    ),
    Attack(
        "UPDATE comments SET text = 'Agreed.' WHERE id = (SELECT MIN(id) FROM comments)",
        "comment",
        "text",
    ),
    Attack("UPDATE comments SET resolved = 1 - resolved", "comment", "resolved"),
    Attack(
        "UPDATE relationships SET type = 'duplicates' WHERE id = "
        "(SELECT MIN(id) FROM relationships)",
        "relationship",
        "type",
    ),
    Attack(
        "DELETE FROM relationships WHERE id = (SELECT MIN(id) FROM relationships)",
        "relationship",
        detail="is gone",
    ),
    Attack(
        "DELETE FROM item_labels WHERE item_id = (SELECT MIN(item_id) FROM item_labels)",
        "item_label",
        detail="is gone",
    ),
    Attack("UPDATE labels SET name = 'sooner' WHERE name = 'later'", "label", "name"),
    Attack("UPDATE saved_views SET shared = 1", "saved_view", "shared"),
    Attack("UPDATE lint_suppressions SET reason = 'x'", "lint_suppression", "reason"),
    Attack(
        "UPDATE requirement_types SET description = 'x' WHERE name = 'Data'",
        "requirement_type",
        "description",
    ),
    Attack(
        "UPDATE relationship_types SET is_acyclic = 0 WHERE name = 'blocks'",
        "relationship_type",
        "is_acyclic",
    ),
    Attack(
        "INSERT INTO requirement_types (name, name_key, created_at) VALUES ('X', 'x', '2026')",
        "requirement_type",
        detail="no operation made it",
    ),
    Attack(
        f"INSERT INTO item_labels SELECT {REQ}, id FROM labels WHERE name = 'later'",
        "item_label",
        detail="no operation made it",
    ),
    # revisions and changes
    Attack(
        "UPDATE revisions SET after = replace(after, 'quick', 'slow') "
        "WHERE after LIKE '%It is quick\"%'",
        "requirement",
        detail="revisions",
    ),
    Attack(
        "UPDATE revisions SET before = replace(before, 'It is quick\"', 'It is slow\"') "
        "WHERE before LIKE '%It is quick\"%'",
        "requirement",
        detail="revisions",
    ),
    Attack(
        "UPDATE revisions SET before = replace(before, 'Another mistake', 'Something else') "
        "WHERE action = 'deleted'",
        "epic",
        detail="revisions",
    ),
    Attack(
        f"UPDATE revisions SET after = replace(after, 'quick', 'slow') WHERE entity_id = {REQ};"
        f"UPDATE items SET title = replace(title, 'quick', 'slow') WHERE id = {REQ}",
        "requirement",
        detail="revisions",
    ),
    Attack("DELETE FROM revisions WHERE after LIKE '%It is quicker%'", "change", detail="revision"),
    Attack(
        "UPDATE changes SET actor = 'mallory' WHERE operation = 'create_view'", "change", "actor"
    ),
    Attack(
        "UPDATE changes SET token_id = 'x' WHERE operation = 'create_view'", "change", "token_id"
    ),
    Attack(
        "DELETE FROM revisions WHERE kind = 'saved_view';"
        "DELETE FROM saved_views;"
        "DELETE FROM changes WHERE operation = 'create_view'",
        "change",
        detail="create_view",
    ),
    Attack(
        "UPDATE changes SET undoes = NULL WHERE undoes IS NOT NULL",
        "requirement",
        detail="revisions",
    ),
    Attack(
        "UPDATE changes SET undoes = (SELECT id FROM changes WHERE operation = 'create_view') "
        "WHERE undoes IS NOT NULL",
        "change",
        "undoes",
    ),
    Attack(
        "UPDATE changes SET proposal_id = NULL WHERE operation = 'accept_proposal'",
        "change",
        "proposal_id",
    ),
    Attack(
        "UPDATE changes SET proposal_id = (SELECT MAX(id) FROM proposals) "
        "WHERE operation = 'create_view'",
        "change",
        "proposal_id",
    ),
    Attack("UPDATE changes SET client = 'x' WHERE operation = 'create_view'", "change", "client"),
    Attack(
        "UPDATE revisions SET version = 7 WHERE after LIKE '%It is quicker%'",
        "requirement",
        "version",
    ),
    Attack(
        "UPDATE revisions SET action = 'updated' WHERE action = 'created' AND kind = 'baseline'",
        "baseline",
        "action",
    ),
    Attack(
        "UPDATE revisions SET reference_id = 'REQ-002' WHERE after LIKE '%It is quicker%'",
        "requirement",
        "reference_id",
    ),
    Attack(f"UPDATE revisions SET item_id = {REQ} WHERE kind = 'comment'", "comment", "item_id"),
    *(
        Attack(
            f"UPDATE revisions SET {state} = '{text}' WHERE after LIKE '%It is quicker%'",
            "requirement",
            detail="is no JSON object",
        )
        for state in ("before", "after")
        for text in ("{", "[]", "5", "")
    ),
    # baselines
    Attack(
        "UPDATE baseline_entries SET content = replace(content, 'Active', 'Draft') "
        "WHERE reference_id = 'REQ-001'",
        "baseline",
        "REQ-001",
        "status",
    ),
    Attack(
        "UPDATE baseline_entries SET version = 9 WHERE reference_id = 'EP-001'",
        "baseline",
        "EP-001",
        "version",
    ),
    Attack("DELETE FROM baseline_entries WHERE reference_id = 'EP-002'", "baseline", "EP-002"),
    Attack(
        "UPDATE baseline_entries SET entity_id = 'x' WHERE reference_id = 'EP-002'",
        "baseline",
        "EP-002",
        "was not there",
    ),
    Attack("UPDATE baselines SET name = 'x' WHERE name = 'Of one'", "baseline", "name"),
    # proposals
    Attack("UPDATE proposals SET steps = replace(steps, 'Renamed', 'Else')", "proposal", "steps"),
    Attack("UPDATE proposals SET preview = '[]'", "proposal", "preview"),
    Attack("UPDATE proposals SET via = 'token'", "proposal", "via"),
    Attack("UPDATE proposals SET state = 'accepted' WHERE state = 'open'", "proposal", "state"),
    # accounts
    Attack("UPDATE users SET role = 'Administrator' WHERE username = 'uma'", "user", "role"),
    Attack("UPDATE users SET active = 0 WHERE username = 'uma'", "user", "active"),
    Attack(
        "UPDATE users SET password_hash = (SELECT password_hash FROM users WHERE username = "
        "'uma') WHERE username = 'admin'",
        "user",
        "password_hash",
    ),
    Attack(
        "INSERT INTO users (id, username, username_key, role, created_at, updated_at) "
        "VALUES ('x', 'eve', 'eve', 'Administrator', '2026', '2026')",
        "user",
        detail="no operation made it",
    ),
    Attack("UPDATE tokens SET scopes = 'read write admin' WHERE name = 'kept'", "token", "scopes"),
    Attack(
        "UPDATE tokens SET scopes = 'read write admin' WHERE name = 'first run'", "token", "scopes"
    ),
    Attack("UPDATE tokens SET revoked_at = NULL WHERE name = 'lost'", "token", "revoked_at"),
    Attack("UPDATE tokens SET expires_at = '9999' WHERE name = 'kept'", "token", "expires_at"),
    Attack(
        "UPDATE tokens SET user_id = (SELECT id FROM users WHERE username = 'admin') "
        "WHERE name = 'kept'",
        "token",
        "user_id",
    ),
    Attack("UPDATE tokens SET hash = hash || 'x' WHERE name = 'kept'", "token", "hash"),
    Attack(
        "INSERT INTO tokens SELECT 'x', user_id, 'more', prefix, last_four, 'x', 'admin', "
        "created_at, expires_at, NULL, NULL FROM tokens WHERE name = 'kept'",
        "token",
        detail="no operation made it",
    ),
    Attack("DELETE FROM tokens WHERE name = 'kept'", "token", detail="is gone"),
    # agents and workflows
    Attack("UPDATE agents SET url = 'https://mallory.example/'", "agent", "url"),
    Attack('UPDATE agents SET auth = \'{"type":"bearer","secret":"file:bank"}\'', "agent", "auth"),
    Attack(
        "INSERT INTO agents (id, name, url, wire, created_at, updated_at) "
        "VALUES ('x', 'gone', 'http://x/', 'auto', '2026', '2026')",
        "agent",
        detail="no operation",
    ),
    Attack(
        "UPDATE workflows SET definition = replace(definition, 'two', 'three')",
        "workflow",
        "definition",
    ),
    Attack("UPDATE workflows SET active = 1", "workflow", "active"),
    Attack("UPDATE triggers SET scopes = NULL", "triggers", "scopes"),
    # what is kept of them
    Attack(
        "UPDATE audit_states SET digests = replace(digests, 'a', 'b') WHERE kind = 'user'",
        "",
        detail="kept state was changed",
    ),
    Attack(
        "DELETE FROM audit_states WHERE kind = 'token' AND sequence = "
        "(SELECT MAX(sequence) FROM audit_states WHERE kind = 'token')",
        "",
        detail="create_token left",
    ),
    Attack("DELETE FROM audit_states", "", detail="adopt_states left"),
    Attack("UPDATE audit_states SET entity_id = 'x' WHERE kind = 'agent'", "", detail="kept state"),
)
UNTYPED: tuple[Attack, ...] = tuple(
    Attack(sql, "", detail="a type that no operation wrote")
    for sql in (
        "UPDATE revisions SET entity_id = x'ff' WHERE kind = 'item_label'",
        "UPDATE workflows SET name = x'ff' WHERE version = 1",
        "UPDATE baseline_entries SET reference_id = x'ff' WHERE reference_id = 'REQ-001'",
    )
)
"""SQLite takes values of any type."""
HARMLESS = (
    "UPDATE tokens SET last_used_at = '2026'",
    "UPDATE agents SET health = 'healthy', health_detail = 'x', checked_at = '2026'",
    "UPDATE triggers SET next_at = 1",
    "DELETE FROM idempotency",
    "UPDATE login_sessions SET seen_at = '2026'",
)


class TakenBackError(Exception):
    def __init__(self, report: VerificationReport) -> None:
        self.report = report


def unguarded(engine: Engine, triggers: Sequence[Any]) -> list[str]:
    """What an attacker does first."""
    if engine == "postgresql":
        return [f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in GUARDED]
    return [f"DROP TRIGGER {row['name']}" for row in triggers]


async def attacked(here: Installation, sql: str) -> VerificationReport:
    """What is found after statements that are then taken back."""
    store = here.local.store
    triggers: Sequence[Any] = ()
    if store.engine == "sqlite":
        triggers = await store.fetch(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN "
            f"({', '.join(repr(table) for table in GUARDED)})"
        )

    async def work(db: Transaction) -> None:
        for each in (*unguarded(store.engine, triggers), *sql.split(";")):
            await db.execute(each)
        raise TakenBackError(await verify_snapshot(db, Chain(here.key), [], None, data_checks()))

    with pytest.raises(TakenBackError) as taken_back:
        await store.transact(work)
    return taken_back.value.report


def names(finding: AuditFinding, attack: Attack) -> bool:
    return (
        finding.kind == attack.kind
        and attack.field in finding.field
        and attack.detail in finding.detail
    )


@pytest.mark.req("H-34")
async def test_each_edit_of_the_data_is_found_and_named(migrated_url: str, tmp_path: Path) -> None:
    async with installed(migrated_url, tmp_path) as here:
        await furnish(here)
        clean = await here.verify()
        assert (clean.findings, clean.unproven, clean.compared > 500) == ((), (), True)
        missed = []
        engine = here.local.store.engine
        for attack in (*ATTACKS, *(UNTYPED if engine == "sqlite" else ())):
            report = await attacked(here, attack.sql)
            if not any(names(each, attack) for each in report.findings):
                missed.append((attack, report.findings))
        assert missed == []
        for sql in HARMLESS:
            assert (await attacked(here, sql)).findings == (), sql
        assert (await here.verify()).findings == ()


@pytest.mark.req("H-34")
async def test_what_is_left_to_an_attacker_who_adopts_is_seen(
    migrated_url: str, tmp_path: Path
) -> None:
    async with installed(migrated_url, tmp_path) as here:
        store = here.local.store
        triggers: Sequence[Any] = ()
        if store.engine == "sqlite":
            triggers = await store.fetch(
                "SELECT name FROM sqlite_master WHERE tbl_name = 'audit_states' "
                "AND type = 'trigger'"
            )
            for sql in unguarded("sqlite", triggers):
                await store.execute(sql)
        else:
            await store.execute("ALTER TABLE audit_states DISABLE TRIGGER USER")
        await store.execute("DELETE FROM audit_states")
        await store.execute("UPDATE users SET role = 'Commenter' WHERE username = 'ada'")
    async with installed_again(migrated_url, tmp_path) as here:
        details = [each.detail for each in (await here.verify()).findings]
        assert any("taken in a second time" in each for each in details), details


@asynccontextmanager
async def installed_again(url: str, folder: Path) -> AsyncIterator[Installation]:
    shared = url.startswith("postgresql")
    settings = Settings(
        data=str(folder), database=url if shared else "", secret_key=KEY if shared else ""
    )
    async with open_runtime(settings) as local:
        nobody = Caller(user_id="", username="", role="User", via="session", face="rest")
        yield Installation(local, settings, nobody)


@pytest.mark.req("H-34")
async def test_a_hub_is_found_clean_while_it_is_written_to(
    migrated_url: str, tmp_path: Path
) -> None:
    async with installed(migrated_url, tmp_path) as here:
        await here.do("load_demo")
        writing = True

        async def write(number: int) -> None:
            while writing:
                made = await here.do("create_epic", title=f"Epic {number}")
                await here.do("update_epic", id=made.id, title="Another title")
                await here.do("create_user", username=f"user-{made.id[-12:]}")
                await here.do("delete_epic", id=made.id)

        writers = [asyncio.create_task(write(number)) for number in range(3)]
        async with open_store(server_url(here, migrated_url, tmp_path)) as other:
            reports = [await verify(other, here.key, checks=data_checks()) for _ in range(8)]
        writing = False
        await asyncio.gather(*writers)
        assert [each.findings for each in reports] == [()] * 8
        assert reports[-1].compared > reports[0].compared
        asked = await here.do("verify_audit_trail")
        assert asked.findings == ()


def server_url(here: Installation, url: str, folder: Path) -> str:
    return url if url.startswith("postgresql") else f"sqlite://{folder}/accord.db"


@pytest.mark.req("H-34")
async def test_a_password_that_is_hashed_anew_is_no_edit(migrated_url: str, tmp_path: Path) -> None:
    weak = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1).hash(PASSWORD)
    async with open_store(migrated_url) as store:
        await store.execute(
            "INSERT INTO users (id, username, username_key, role, password_hash, created_at, "
            "updated_at) VALUES ('11111111-2222-4333-8444-555555555555', 'old', 'old', "
            "'Administrator', $1, '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z')",
            weak,
        )
    async with installed_again(migrated_url, tmp_path) as here:
        await here.local.accounts.sign_in("old", PASSWORD)
        [row] = await here.local.store.fetch("SELECT password_hash FROM users")
        assert row["password_hash"] != weak
        assert (await here.verify()).findings == ()
        copied = f"UPDATE users SET password_hash = '{weak}'"
        [found] = (await attacked(here, copied)).findings
        assert (found.kind, found.field, found.where) == (
            *("user", "password_hash", "user old password_hash"),
        )


@pytest.mark.req("H-34")
async def test_what_a_server_of_the_release_before_wrote_meanwhile_is_no_edit(
    migrated_url: str, tmp_path: Path
) -> None:
    async with installed(migrated_url, tmp_path) as here:
        older = Runner(  # keeps no states, as the release before
            all_operations(),
            here.local.store,
            here.local.trail,
            services=(here.local.accounts, AcceptancePolicy(), Events(EVENT_KINDS)),
            recorders=RECORDERS,
        )

        async def do(name: str, **arguments: Any) -> None:
            operation = older.registry[name]
            await older.run(operation, convert(operation, arguments), here.ada)

        await here.do("create_user", username="uma")
        await do("create_user", username="otto")
        await do("update_user", id="uma", role="Commenter")
        steps = [{"operation": "create_epic", "arguments": {"title": "Till"}}]
        await do("propose_changes", steps=steps, reason="We need one")
        await here.do("create_user", username="nina")
        report = await here.verify()
        assert report.findings == ()
        assert len(report.unproven) == 3
        changed = "UPDATE users SET role = 'Administrator' WHERE username = 'nina'"
        assert [each.field for each in (await attacked(here, changed)).findings] == ["role"]
