"""A FastAPI application with one route, which gives back what it gets.

Runs in every environment that has FastAPI, so it imports nothing else.
"""

from __future__ import annotations

from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()


class Text(BaseModel):
    text: str


@app.post("/echo")
async def echo(text: Text) -> Text:
    return text
