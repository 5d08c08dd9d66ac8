"""Accounts on the command line, on the machine itself."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from accord.app.runtime import open_runtime
from accord.app.settings import Settings
from accord.operations.auth.credentials import bearer
from accord.operations.errors import UnauthenticatedError
from tests.cli.command import Completed, accord, environment
from tests.store.cluster import Cluster


def test_people_and_tokens_are_made_and_listed(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    made = accord("user", "create", "ada", "--role", "administrator", "--data", data)
    assert (made.code, made.err) == (0, "")
    assert re.fullmatch(r"ada is now Administrator \([0-9a-f-]{36}\)\n", made.out)
    made = accord(
        *("user", "create", "bob", "--role", "commenter", "--email", "bob@example.org"),
        *("--password-stdin", "--data", data),
        stdin="correct horse battery\n",
    )
    assert (made.code, made.err) == (0, "")
    token = accord(
        *("token", "create", "--user", "bob", "--name", "ci", "--scope", "read"),
        *("--expires", "30d", "--data", data),
    )
    assert (token.code, token.err) == (0, "")
    assert re.fullmatch(r"accord_pat_[0-9A-Za-z]{36}\n", token.out)
    assert accord("user", "list", "--data", data).out == (
        "name  role           email            active\n"
        "ada   Administrator                   yes\n"
        "bob   Commenter      bob@example.org  yes\n"
    )
    listed = json.loads(accord("token", "list", "--user", "bob", "--json", "--data", data).out)
    assert [(each["name"], each["scopes"], each["last_four"]) for each in listed] == [
        ("ci", ["read"], token.out.strip()[-4:])
    ]
    shown = accord("token", "list", "--user", "bob", "--data", data).out
    assert token.out.strip() not in shown
    assert "ci" in shown
    users = json.loads(accord("user", "list", "--json", "--data", data).out)
    assert [each["username"] for each in users] == ["ada", "bob"]


@pytest.mark.req("H-15")
async def test_a_token_revoked_on_the_command_line_is_refused_by_whoever_serves(
    tmp_path: Path,
) -> None:
    settings = Settings(data=str(tmp_path))
    async with open_runtime(settings) as local:
        await local.run("create_user", username="ada", role="Administrator")
        token = bearer((await local.run("create_token", user="ada", name="laptop")).result.token)
        assert (await local.accounts.caller(token)).username == "ada"
        revoked = accord("token", "revoke", "laptop", "--user", "ada", "--data", str(tmp_path))
        assert revoked == Completed(0, "ada's token laptop is revoked\n")
        with pytest.raises(UnauthenticatedError):
            await local.accounts.caller(token)
        records = await local.store.fetch(
            "SELECT via, face, operation FROM audit_records WHERE operation = $1", "revoke_token"
        )
        assert [(row["via"], row["face"]) for row in records] == [("local", "cli")]


def test_a_person_is_changed(tmp_path: Path) -> None:
    env = environment(ACCORD_DATA=str(tmp_path))
    accord("user", "create", "ada", "--role", "administrator", env=env)
    accord("user", "create", "bob", "--role", "user", env=env)
    changed = accord(
        *("user", "update", "bob", "--role", "commenter", "--deactivate", "--email", ""), env=env
    )
    assert changed == Completed(0, "bob is now Commenter, not active\n")
    changed = accord("user", "update", "bob", "--activate", env=env)
    assert changed == Completed(0, "bob is now Commenter\n")
    changed = accord(
        "user", "update", "bob", "--password-stdin", stdin="correct horse battery", env=env
    )
    assert changed == Completed(0, "bob has another password\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("user create", 2, "a NAME and a --role are needed; see accord user create --help"),
        ("user create bob --role root", 2, "argument --role: invalid choice: 'root'"),
        ("user create bo --role user", 1, "username: expected `str` of length >= 3"),
        ("user create ada --role user", 1, "there is a user 'ada' already"),
        ("user create bob --role user --password-stdin", 2, "there is no password on stdin"),
        ("user update ada", 2, "say what to change"),
        ("user update", 2, "a NAME is missing"),
        ("user update ada --deactivate", 1, "ada is the last active administrator"),
        ("token create --user ada", 2, "--user and --name are needed"),
        ("token create --user eve --name x", 1, "there is no user 'eve'; there are ada"),
        ("token create --user ada --name x --expires 400d", 1, "expires_in: expected `int` <= 365"),
        ("token create --user ada --name x --expires soon", 2, "a number of days such as 30d"),
        ("token create --user ada --name x --scope all", 2, "invalid choice: 'all'"),
        ("token list", 2, "--user is needed"),
        ("token revoke x", 2, "a LABEL and --user are needed"),
        ("token revoke x --user ada", 1, "you have no token 'x'"),
        ("user list --database mysql://x", 2, "mysql"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    ada: dict[str, str], arguments: str, code: int, message: str
) -> None:
    done = accord(*arguments.split(), env=ada)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert done.err.count("\n") == 1


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with an installation in which ada is the administrator."""
    env = environment(ACCORD_DATA=str(tmp_path_factory.mktemp("data")))
    assert accord("user", "create", "ada", "--role", "administrator", env=env).code == 0
    return env


def test_another_key_is_refused(ada: dict[str, str]) -> None:
    key = Path(ada["ACCORD_DATA"]) / "key"
    right = key.read_text()
    key.write_text("00" * 32)
    done = accord("user", "list", env=ada)
    key.write_text(right)
    assert (done.code, done.out) == (2, "")
    assert "the database belongs to another server key" in done.err


def test_postgresql_needs_a_key_in_the_environment(cluster: Cluster, tmp_path: Path) -> None:
    env = environment(ACCORD_DATABASE=cluster.database(), ACCORD_DATA=str(tmp_path / "unused"))
    env.pop("ACCORD_SECRET_KEY", None)
    done = accord("user", "list", env=env)
    assert (done.code, done.out) == (2, "")
    assert "ACCORD_SECRET_KEY, which is not set" in done.err
    env["ACCORD_SECRET_KEY"] = "k" * 32
    done = accord("user", "create", "ada", "--role", "user", env=env)
    assert (done.code, done.err) == (0, "")
    assert [file.name for file in (tmp_path / "unused").iterdir()] == ["audit-head"]
    env["ACCORD_SECRET_KEY"] = "another key of 32 characters ...."
    assert "another server key" in accord("user", "list", env=env).err
