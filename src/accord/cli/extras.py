"""Optional dependencies: the extras of the package, and the modules each one installs."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final, NamedTuple


class Extra(NamedTuple):  # `accord --help` loads this module, and does without msgspec
    """Packages that `pip install 'accord[name]'` adds."""

    modules: tuple[str, ...]
    use: str
    is_needed: bool = False
    """Whether `accord serve` needs it."""

    @property
    def is_installed(self) -> bool:
        """Whether its modules can be found; none is imported."""
        return all(find_spec(module) is not None for module in self.modules)


EXTRAS: Final = {
    "hub": Extra(("argon2",), "passwords", is_needed=True),
    "web": Extra(("jinja2", "markdown_it"), "pages", is_needed=True),
    "workflows": Extra(("yaml",), "workflows in YAML", is_needed=True),
    "postgres": Extra(("asyncpg",), "PostgreSQL"),
    "kafka": Extra(("confluent_kafka",), "Kafka as the bus of workflows"),
    "otel": Extra(("opentelemetry",), "traces"),
    "auth": Extra(("jwt", "cryptography"), "OAuth of MCP servers and clients"),
    "pydantic": Extra(("pydantic",), "models of pydantic as params"),
    "uvloop": Extra(("uvloop",), "a faster event loop"),
}


POSIX_MODULES: Final = frozenset({"fcntl", "resource"})


def missing_extra(error: BaseException) -> str | None:
    """Return the extra whose module could not be imported, None if the error is another one."""
    module = missing_module(error)
    return next((name for name in EXTRAS if module in EXTRAS[name].modules), None)


def missing_module(error: BaseException) -> str:
    """Return the package that could not be imported; "" if the error is another one.

    The failed import may be the cause of an error, such as that of a database without its driver.
    """
    for each in (error, error.__cause__):
        if isinstance(each, ModuleNotFoundError) and each.name is not None:
            return each.name.partition(".")[0]
    return ""


def is_unavailable(error: BaseException) -> bool:
    """Return whether an import failed for an extra that is missing, or for the system."""
    return missing_extra(error) is not None or needs_posix(error)


def needs_posix(error: BaseException) -> bool:
    """Return whether an import failed because the system is not a POSIX one."""
    return isinstance(error, ModuleNotFoundError) and error.name in POSIX_MODULES


def missing_for_serve() -> list[str]:
    """Return the extras that `accord serve` needs and that are not installed."""
    return [name for name, each in EXTRAS.items() if each.is_needed and not each.is_installed]


def install_command(names: list[str]) -> str:
    """Return the command that installs these extras."""
    return f"pip install 'accord[{','.join(names)}]'"
