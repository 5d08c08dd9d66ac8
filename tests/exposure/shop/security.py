"""Who may do what: customers with a bearer token, the staff with a key in a header."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Security
from fastapi.security import APIKeyHeader, OAuth2PasswordBearer

from tests.exposure.shop.models import Customer
from tests.exposure.shop.store import Store, store_of

USER = "ada"
PASSWORD = "engine"
TOKEN = "token-of-ada"
ADMIN_KEY = "key-of-the-staff"

_bearer = OAuth2PasswordBearer(tokenUrl="login")
_key = APIKeyHeader(name="X-Admin-Key", auto_error=False)


def customer(
    token: Annotated[str, Depends(_bearer)], store: Annotated[Store, Depends(store_of)]
) -> Customer:
    if token != TOKEN:
        raise HTTPException(401, "unknown token", headers={"WWW-Authenticate": "Bearer"})
    return store.customer


def staff(key: Annotated[str | None, Security(_key)]) -> str:
    if key != ADMIN_KEY:
        raise HTTPException(403, "the staff only")
    return "staff"


TheStore = Annotated[Store, Depends(store_of)]
TheCustomer = Annotated[Customer, Depends(customer)]
