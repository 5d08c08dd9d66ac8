"""Types that msgspec cannot decode by itself, decoded."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest
from msgspec import Struct

from accord.openrpc.clients.stub import decoder, either, open_record


class Cat(Struct):
    kind: Literal["cat"]
    lives: int = 9


class Dog(Struct):
    kind: Literal["dog"]
    friend: Any = None


OPEN: Any = open_record("Open", lambda: {"id": int, "pet": PET}, required=["id"])
PET: Any = either("Pet", lambda: (Cat, Dog, dict[str, int]))
MIXED: Any = either("Mixed", lambda: (list[int], list[str], OPEN, int | str, None, Literal[True]))
ANY: Any = either("Any", lambda: (int, Any))


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (PET, '{"kind": "cat", "x": 1}', Cat("cat")),
        (PET, '{"kind": "dog", "friend": {"kind": "cat"}}', Dog("dog", {"kind": "cat"})),
        (PET, '{"kind": 5}', {"kind": 5}),
        (PET, "{}", {}),
        (OPEN, '{"id": 1, "pet": {"kind": "cat"}, "x": [1]}', {"id": 1, "pet": Cat("cat"), "x": [1]}),
        (MIXED, "[1]", [1]),
        (MIXED, '["a"]', ["a"]),
        (MIXED, '{"id": 1}', {"id": 1}),
        (MIXED, "5", 5),
        (MIXED, '"x"', "x"),
        (MIXED, "null", None),
        (MIXED, "true", True),
        (list[MIXED], "[5, [5]]", [5, [5]]),
        (PET | None, "null", None),
        (ANY, '"x"', "x"),
    ],
)  # fmt: skip
def test_a_value_is_decoded_as_what_fits(type: Any, text: str, value: Any) -> None:
    assert decoder(type).decode(text) == value


@pytest.mark.parametrize(
    ("type", "text", "message"),
    [
        (PET, "5", "Expected a value of Pet, and no variant of it fits"),
        (OPEN, "5", "Expected an object for Open"),
        (OPEN, "{}", "Object missing required field `id`"),
        (OPEN, '{"id": "x"}', "Expected `int`, got `str`"),
        (MIXED, "1.5", "Expected a value of Mixed, and no variant of it fits"),
        (MIXED, "false", "Expected a value of Mixed, and no variant of it fits"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(type: Any, text: str, message: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=message):
        decoder(type).decode(text)


def test_values_are_instances_of_what_they_were_decoded_as() -> None:
    assert isinstance(Cat("cat"), PET)
    assert not isinstance(5, PET)
    values: list[Any] = [[], {}, 5, None, True]
    assert all(isinstance(value, MIXED) for value in values)
    assert not isinstance(1.5, MIXED)
    assert isinstance(1.5, ANY)


def test_a_class_that_nobody_knows_is_refused() -> None:
    class Unknown: ...

    with pytest.raises(NotImplementedError):
        decoder(Unknown).decode("5")
