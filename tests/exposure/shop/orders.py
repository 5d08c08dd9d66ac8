"""Orders of the customer who asks, who needs a token for all of it."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, BackgroundTasks, Depends, Header, HTTPException, Query
from fastapi.responses import PlainTextResponse, RedirectResponse

from tests.exposure.shop.models import Order, OrderDraft, Payment, Problem
from tests.exposure.shop.security import TheCustomer, TheStore, customer

router = APIRouter(
    prefix="/orders",
    tags=["orders"],
    dependencies=[Depends(customer)],
    responses={401: {"model": Problem, "description": "No token, or a wrong one."}},
)


def existing(order_id: UUID, store: TheStore) -> Order:
    if order_id not in store.orders:
        raise HTTPException(404, f"no order {order_id}")
    return store.orders[order_id]


Existing = Annotated[Order, Depends(existing)]


@router.get("")
async def list_orders(
    store: TheStore,
    ids: Annotated[list[UUID], Query(alias="id")] = [],  # noqa: B006  as FastAPI shows it
) -> list[Order]:
    return [each for each in store.orders.values() if not ids or each.id in ids]


@router.post("", status_code=201)
async def place_order(
    draft: OrderDraft,
    who: TheCustomer,
    store: TheStore,
    tasks: BackgroundTasks,
    x_request_id: Annotated[str | None, Header()] = None,
) -> Order:
    """Place an order; a mail goes out once it is answered."""
    order = store.add_order(draft)
    tasks.add_task(store.outbox.append, f"{who.email}: {order.tracking} {x_request_id}")
    return order


@router.post("/bulk", status_code=201)
async def place_orders(drafts: list[OrderDraft], store: TheStore) -> list[Order]:
    return [store.add_order(draft) for draft in drafts]


@router.get("/{order_id}", responses={404: {"model": Problem}})
async def get_order(order: Existing) -> Order:
    return order


@router.post("/{order_id}/pay")
async def pay_order(order: Existing, payment: Payment, store: TheStore) -> Order:
    store.orders[order.id] = order.model_copy(update={"status": "paid"})
    store.outbox.append(f"paid by {payment.kind}")
    return store.orders[order.id]


@router.post("/{order_id}/cancel", responses={409: {"model": Problem}})
async def cancel_order(order: Existing, store: TheStore) -> Order:
    if order.status == "paid":
        raise HTTPException(409, "it is paid for")
    store.orders[order.id] = order.model_copy(update={"status": "cancelled"})
    return store.orders[order.id]


@router.get("/{order_id}/invoice", response_class=PlainTextResponse)
async def get_invoice(order: Existing) -> str:
    return f"Invoice for {order.customer}: {len(order.lines)} lines\n"


@router.get("/{order_id}/parcel", response_class=RedirectResponse, status_code=307)
async def get_parcel(order: Existing) -> str:
    return f"/parcels/{order.tracking}"
