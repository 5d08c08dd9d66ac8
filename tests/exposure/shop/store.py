"""All that one shop knows, in memory."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

from starlette.requests import HTTPConnection

from tests.exposure.shop.models import (
    Address,
    Availability,
    Category,
    Customer,
    Order,
    OrderDraft,
    Price,
    Product,
    Review,
)


class Store:
    """Products, orders and customers; and what tests want to see afterwards."""

    def __init__(self) -> None:
        self.products = {product.id: product for product in _products()}
        self.reviews: dict[int, list[Review]] = {
            1: [Review(stars=5, text="Holds tea.", replies=[Review(stars=4, text="Coffee too.")])]
        }
        self.categories = Category(
            name="all",
            children=[
                Category(name="kitchen", children=[Category(name="cups")]),
                Category(name="desk"),
            ],
        )
        self.orders: dict[UUID, Order] = {}
        self.customer = Customer(
            name="ada",
            email="ada@example.com",
            address=Address(street="Main Street 1", city="Delft", country="NL"),
        )
        self.outbox: list[str] = []
        """What background tasks have sent."""
        self.requests: list[tuple[str, str]] = []
        """What the middleware saw: the method and the path of each request."""
        self.open = True

    def add_order(self, draft: OrderDraft) -> Order:
        number = len(self.orders) + 1
        order = Order(
            id=UUID(int=number),
            customer=self.customer.name,
            lines=draft.lines,
            tracking=f"T{number:04}",
        )
        self.orders[order.id] = order
        return order


def store_of(connection: HTTPConnection) -> Store:
    """A dependency: the store of the application that is asked."""
    found = connection.app.state.store
    assert isinstance(found, Store)
    return found


def _products() -> list[Product]:
    return [
        Product(id=1, name="Cup", price=Price(amount=Decimal("4.50")), tags=["kitchen", "blue"]),
        Product(
            id=2,
            name="Lamp",
            price=Price(amount=Decimal("39.00")),
            tags=["desk"],
            attributes={"watts": 9},
        ),
        Product(
            id=3,
            name="Größe & Maß / 50%",
            price=Price(amount=Decimal("12.00"), currency="USD"),
            availability=Availability.GONE,
        ),
    ]
