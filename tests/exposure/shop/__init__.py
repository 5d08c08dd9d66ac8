"""A web shop in FastAPI: a real application with much of what such applications do.

`make_shop()` gives a fresh one each time, with the same data and no clock and no chance in it:
two of them answer the same requests alike.
"""

from tests.exposure.shop.app import make_shop as make_shop
from tests.exposure.shop.security import (
    ADMIN_KEY as ADMIN_KEY,
    PASSWORD as PASSWORD,
    TOKEN as TOKEN,
    USER as USER,
)
