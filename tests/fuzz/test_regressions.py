"""The fuzz targets hold for every seed and every input that once broke something."""

from __future__ import annotations

import pytest

from fuzz import mutation, seeds, targets

every_target = pytest.mark.parametrize("name", targets.NAMES)


@pytest.mark.req("F-30")
@every_target
def test_every_seed_and_every_regression_is_taken(name: str) -> None:
    inputs = seeds.seeds(name)
    assert inputs
    with targets.load(name) as check:
        for file, data in inputs.items():
            try:
                check(data)
            except Exception as error:
                error.add_note(f"the input is fuzz/{file.replace('/', f'/{name}/')}")
                raise


@pytest.mark.req("F-30")
@every_target
def test_inputs_made_from_the_seeds_are_taken(name: str) -> None:
    tried = mutation.run(name, runs=300, seconds=None, seed=3)
    assert tried == 300


@every_target
def test_a_dictionary_has_words(name: str) -> None:
    assert len(seeds.words(name)) > 10
