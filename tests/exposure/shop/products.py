"""Products: listed in pages, found, changed by the staff, with a picture and reviews."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import (
    APIRouter,
    Body,
    Depends,
    Header,
    HTTPException,
    Path,
    Query,
    Response,
    UploadFile,
)
from fastapi.responses import StreamingResponse

from tests.exposure.shop.models import (
    Availability,
    Filters,
    Page,
    Problem,
    Product,
    ProductDraft,
    ProductPatch,
    Review,
)
from tests.exposure.shop.security import TheStore, staff
from tests.exposure.shop.store import Store

PICTURE = b"\x89PNG\r\n\x1a\n\x00\x00\xff"

router = APIRouter(prefix="/products", tags=["products"], responses={404: {"model": Problem}})
reviews = APIRouter(prefix="/{product_id}/reviews", tags=["reviews"])

ProductId = Annotated[int, Path(ge=1, description="The number on the box.")]


def existing(product_id: ProductId, store: TheStore) -> Product:
    """A dependency with a path parameter of its own."""
    if product_id not in store.products:
        raise HTTPException(404, f"no product {product_id}")
    return store.products[product_id]


def paging(
    offset: Annotated[int, Query(ge=0)] = 0, limit: Annotated[int, Query(ge=1, le=100)] = 10
) -> slice:
    return slice(offset, offset + limit)


Existing = Annotated[Product, Depends(existing)]
Paging = Annotated[slice, Depends(paging)]


@router.get("")
async def list_products(
    store: TheStore,
    page: Paging,
    q: Annotated[str | None, Query(description="Part of the name.")] = None,
    tags: Annotated[list[str] | None, Query(alias="tag")] = None,
    availability: Availability | None = None,
) -> Page[Product]:
    """List products.

    In the order of their numbers, a page at a time.
    """
    found = [
        each
        for each in store.products.values()
        if (q is None or q.lower() in each.name.lower())
        and set(tags or ()) <= set(each.tags)
        and availability in (None, each.availability)
    ]
    more = page.stop if page.stop < len(found) else None
    return Page(items=found[page], total=len(found), next_offset=more)


@router.head("", include_in_schema=False)
async def probe_products() -> None:
    """Whether there are products at all."""


@router.post("", status_code=201, dependencies=[Depends(staff)])
async def create_product(draft: ProductDraft, store: TheStore, response: Response) -> Product:
    product = Product(id=max(store.products) + 1, **draft.model_dump())
    store.products[product.id] = product
    response.headers["Location"] = f"/products/{product.id}"
    return product


@router.get("/filtered")
async def filter_products(filters: Annotated[Filters, Query()], store: TheStore) -> list[str]:
    found = [
        each
        for each in store.products.values()
        if (filters.min_price is None or each.price.amount >= filters.min_price)
        and set(filters.tags) <= set(each.tags)
    ]
    return sorted(
        (each.name for each in found),
        key=str if filters.order_by == "name" else [each.name for each in found].index,
    )


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/csv": {}}, "description": "All products."}},
)
def export_products(store: TheStore) -> StreamingResponse:
    return StreamingResponse(_rows(store), media_type="text/csv")


@router.get("/search/{phrase:path}")
async def search(phrase: str, store: TheStore) -> list[int]:
    """The numbers of products whose name has the phrase in it; it may contain slashes."""
    return [each.id for each in store.products.values() if phrase in each.name]


@router.get("/{product_id}")
async def get_product(
    product: Existing,
    response: Response,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Product:
    response.headers["ETag"] = f'"{product.id}"'
    if if_none_match == f'"{product.id}"':
        raise HTTPException(304)
    return product


@router.put("/{product_id}", dependencies=[Depends(staff)])
async def replace_product(product: Existing, draft: ProductDraft, store: TheStore) -> Product:
    store.products[product.id] = Product(id=product.id, **draft.model_dump())
    return store.products[product.id]


@router.patch("/{product_id}", dependencies=[Depends(staff)])
async def change_product(product: Existing, patch: ProductPatch, store: TheStore) -> Product:
    changed = product.model_copy(
        update={key: getattr(patch, key) for key in patch.model_fields_set}
    )
    store.products[product.id] = changed
    return changed


@router.delete("/{product_id}", status_code=204, dependencies=[Depends(staff)])
async def delete_product(product: Existing, store: TheStore) -> None:
    del store.products[product.id]


@router.get(
    "/{product_id}/picture",
    response_class=Response,
    responses={200: {"content": {"image/png": {}}}},
)
async def get_picture(product: Existing) -> Response:
    name = f"product-{product.id}.png"
    return Response(
        PICTURE,
        media_type="image/png",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@router.post("/{product_id}/picture", dependencies=[Depends(staff)])
async def put_picture(product: Existing, picture: UploadFile) -> dict[str, Any]:
    return {"product": product.id, "bytes": len(await picture.read())}


@reviews.get("")
async def list_reviews(product: Existing, store: TheStore) -> list[Review]:
    return store.reviews.get(product.id, [])


@reviews.post("", status_code=201)
async def add_review(
    product: Existing,
    review: Review,
    store: TheStore,
    notify: Annotated[bool, Body()] = False,
) -> dict[str, Any]:
    store.reviews.setdefault(product.id, []).append(review)
    return {"count": len(store.reviews[product.id]), "notify": notify}


def _rows(store: Store) -> Iterator[str]:
    yield "id,name\r\n"
    for each in store.products.values():
        yield f"{each.id},{each.name}\r\n"


router.include_router(reviews)
