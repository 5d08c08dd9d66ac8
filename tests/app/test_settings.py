"""Settings come from flags, the environment and a file, in this order."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.app.settings import Settings, SettingsError, resolve


def test_what_nobody_says_has_its_default() -> None:
    resolved = resolve({}, {})
    assert resolved.settings == Settings()
    assert {each.source for each in resolved.each()} == {"default"}


def test_flags_come_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    (tmp_path / "accord.toml").write_text('port = 1\nhost = "file"\nlog_level = "debug"\n')
    environ = {"ACCORD_PORT": "2", "ACCORD_HOST": "environment", "ACCORD_DATA": str(tmp_path)}
    resolved = resolve({"port": 3}, environ)
    settings = resolved.settings
    assert (settings.port, settings.host, settings.log_level) == (3, "environment", "debug")
    assert [resolved.sources[name] for name in ("port", "host", "log_level")] == [
        *("--port", "ACCORD_HOST", str(tmp_path / "accord.toml")),
    ]


def test_several_values_are_separated_by_commas_in_the_environment() -> None:
    settings = resolve({}, {"ACCORD_ALLOWED_HOSTS": "a.example, b.example"}).settings
    assert settings.allowed_hosts == ["a.example", "b.example"]


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"there is no file .*missing\.toml"):
        resolve({}, {"ACCORD_CONFIG": str(tmp_path / "missing.toml")})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("port = 'x'", r"accord\.toml: Expected `int`, got `str`"),
        ("port = 70000", r"accord\.toml: Expected `int` <= 65535"),
        ("colour = 1", r"accord\.toml: there is no setting 'colour'"),
        ("port =", r"accord\.toml cannot be read"),
    ],
)
def test_a_setting_that_cannot_be_understood_is_named_with_its_file(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "accord.toml").write_text(text)
    with pytest.raises(SettingsError, match=message):
        resolve({"data": str(tmp_path)}, {})


def test_a_wrong_variable_is_named() -> None:
    with pytest.raises(SettingsError, match="ACCORD_PORT: Expected `int`, got `str`"):
        resolve({}, {"ACCORD_PORT": "many"})


@pytest.mark.req("H-56")
def test_choices_are_found_in_any_letter_case(tmp_path: Path) -> None:
    (tmp_path / "accord.toml").write_text('error_codes = "Extended"\n')
    given = {"ACCORD_LOG_FORMAT": "JSON"}
    found = resolve({"data": str(tmp_path), "log_level": "INFO"}, given).settings
    assert (found.log_level, found.log_format, found.error_codes) == ("info", "json", "extended")


@pytest.mark.req("H-56")
def test_a_wrong_choice_is_answered_with_the_valid_ones(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as raised:
        resolve({"data": str(tmp_path)}, {"ACCORD_LOG_LEVEL": "debg"})
    assert str(raised.value) == (
        "ACCORD_LOG_LEVEL: must be one of debug, info, warning, error; got 'debg', "
        "did you mean debug?"
    )


def test_secrets_are_shown_as_stars() -> None:
    environ = {
        "ACCORD_SECRET_KEY": "canary-1",
        "ACCORD_DATABASE": "postgresql://u:canary-2@h/d",
        "ACCORD_RATE_STORE": "redis://:canary-3@h",
    }
    shown = str(resolve({}, environ).each())
    assert "canary" not in shown
    assert shown.count("'***'") == 3


def test_the_database_is_a_file_in_the_data_directory_unless_a_url_is_given(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "with space"
    assert resolve({"data": str(folder)}, {}).settings.database_url == (
        f"sqlite://{tmp_path}/with%20space/accord.db"
    )
    url = "postgresql://localhost/accord"
    assert resolve({"database": url}, {}).settings.database_url == url
