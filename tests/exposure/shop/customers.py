"""Customers: signing in by a form, their address, cookies and feedback."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Cookie, Depends, Form, HTTPException, Response
from fastapi.security import OAuth2PasswordRequestForm

from tests.exposure.shop.models import Address, Customer, Feedback, Token
from tests.exposure.shop.security import PASSWORD, TOKEN, USER, TheCustomer, TheStore

router = APIRouter(tags=["customers"])


@router.post("/login")
async def login(form: Annotated[OAuth2PasswordRequestForm, Depends()]) -> Token:
    if (form.username, form.password) != (USER, PASSWORD):
        raise HTTPException(400, "wrong name or password")
    return Token(access_token=TOKEN)


@router.get("/me")
async def me(who: TheCustomer) -> Customer:
    return who


@router.put("/me/address")
async def move(address: Address, who: TheCustomer) -> Customer:
    who.address = address
    return who


@router.delete("/me/address", status_code=204, response_class=Response)
async def vanish(who: TheCustomer) -> None:
    who.address = None


@router.get("/me/view")
async def view(
    theme: Annotated[str, Cookie()] = "light",
    seen: Annotated[str | None, Cookie(alias="last-seen")] = None,
) -> dict[str, str | None]:
    return {"theme": theme, "seen": seen}


@router.post("/feedback", status_code=202)
async def give_feedback(feedback: Annotated[Feedback, Form()], store: TheStore) -> None:
    store.outbox.append(f"{feedback.topic} {feedback.stars}: {feedback.text}")
