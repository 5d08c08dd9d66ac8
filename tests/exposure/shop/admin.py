"""What the staff sees: an application of its own, mounted into the shop."""

from __future__ import annotations

from fastapi import Depends, FastAPI

from tests.exposure.shop.models import Customer
from tests.exposure.shop.security import TheStore, staff
from tests.exposure.shop.store import Store


def make_admin(store: Store) -> FastAPI:
    admin = FastAPI(title="Shop, behind the counter", dependencies=[Depends(staff)])
    admin.state.store = store

    @admin.get("/customers/{name}", tags=["customers"])
    async def read_customer(name: str, shop: TheStore) -> Customer | None:
        return shop.customer if shop.customer.name == name else None

    @admin.post("/opening")
    async def set_opening(opened: bool, shop: TheStore) -> dict[str, bool]:
        shop.open = opened
        return {"open": shop.open}

    return admin
