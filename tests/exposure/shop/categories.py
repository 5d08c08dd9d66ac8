"""The tree of categories: a recursive model, taken and answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Body, HTTPException

from tests.exposure.shop.models import Category
from tests.exposure.shop.security import TheStore

router = APIRouter(prefix="/categories", tags=["categories"])


@router.get("", operation_id="categoryTree")
async def tree(store: TheStore) -> Category:
    return store.categories


@router.put("/{name}")
async def replace(name: str, category: Category, store: TheStore, dry: bool = False) -> Category:
    """Put another category in the place of the one called `name`."""
    for parent in _all(store.categories):
        for place, child in enumerate(parent.children):
            if child.name == name:
                if not dry:
                    parent.children[place] = category
                return category
    raise HTTPException(404, f"no category '{name}'")


@router.put("/{name}/order")
async def arrange(name: str, names: Annotated[list[str], Body()], store: TheStore) -> list[str]:
    """Put the children in the order of a list, which is the whole body."""
    for category in _all(store.categories):
        if category.name == name:
            category.children.sort(key=lambda child: names.index(child.name))
            return [child.name for child in category.children]
    raise HTTPException(404, f"no category '{name}'")


def _all(category: Category) -> Iterator[Category]:
    yield category
    for child in category.children:
        yield from _all(child)
