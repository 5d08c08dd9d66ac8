"""How clients of tests that speak http alone are spared the certificates of the whole world, which
take longer to load than most requests."""

from __future__ import annotations

import ssl
from typing import Final

NO_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For `verify=` of a client: it trusts nobody, and needs not."""
