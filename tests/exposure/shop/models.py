"""What the shop's routes take and answer."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Generic, Literal, TypeAlias, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")


class Availability(StrEnum):
    IN_STOCK = "in stock"
    ORDERED = "ordered"
    GONE = "gone"


class Price(BaseModel):
    amount: Decimal = Field(ge=0, decimal_places=2)
    currency: Literal["EUR", "USD"] = "EUR"


class ProductDraft(BaseModel):
    name: str = Field(min_length=1, max_length=80, description="What the label says.")
    price: Price
    description: str | None = None
    tags: list[str] = Field(default_factory=list, max_length=10)
    attributes: dict[str, str | int] = {}


class Product(ProductDraft):
    id: int
    availability: Availability = Availability.IN_STOCK


class ProductPatch(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(default=None, min_length=1, max_length=80)
    price: Price | None = None
    availability: Availability | None = None


class Page(BaseModel, Generic[T]):
    items: list[T]
    total: int
    next_offset: int | None = None


class Filters(BaseModel):
    """The query of a listing, as one model."""

    model_config = ConfigDict(extra="forbid")

    min_price: Decimal | None = Field(default=None, ge=0)
    tags: list[str] = []
    order_by: Literal["id", "name"] = "id"


class Category(BaseModel):
    name: str
    children: list[Category] = []


class Review(BaseModel):
    stars: int = Field(ge=1, le=5)
    text: str = ""
    replies: list[Review] = []


class OrderLine(BaseModel):
    product_id: int
    count: int = Field(default=1, ge=1, le=100)


class OrderDraft(BaseModel):
    lines: list[OrderLine] = Field(min_length=1)
    gift: bool = False
    deliver_on: date | None = Field(default=None, alias="deliverOn")


class Order(BaseModel):
    id: UUID
    customer: str
    lines: list[OrderLine]
    status: Literal["open", "paid", "cancelled"] = "open"
    tracking: str


class Card(BaseModel):
    kind: Literal["card"]
    number: str = Field(pattern=r"^\d{16}$")


class Transfer(BaseModel):
    kind: Literal["transfer"]
    iban: str


Payment: TypeAlias = Annotated[Card | Transfer, Field(discriminator="kind")]


class Address(BaseModel):
    street: str
    city: str
    country: str = Field(min_length=2, max_length=2)


class Customer(BaseModel):
    name: str
    email: str
    address: Address | None = None


class Feedback(BaseModel):
    topic: Literal["praise", "complaint"]
    text: str
    stars: int = Field(default=3, ge=1, le=5)


class Token(BaseModel):
    access_token: str
    token_type: Literal["bearer"] = "bearer"


class Problem(BaseModel):
    """What the shop answers with where something is not as it should be."""

    detail: str
