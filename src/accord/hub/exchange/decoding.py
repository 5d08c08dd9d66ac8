"""Files as content of an import: their text, in whatever encoding they declare. Pure."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Final

from accord.hub.exchange.project import FormatError

ENCODINGS: Final = re.compile(
    r"utf-?8|utf-?16(le|be)?|us-ascii|ascii|iso-?8859-?[0-9]{1,2}|latin-?1|windows-?125[0-8]|"
    r"cp125[0-8]|koi8-[ru]|macintosh|shift[_-]jis|euc-(jp|kr)|iso-2022-jp|gb2312|gbk|gb18030|big5",
    re.IGNORECASE,
)
"""The supported encodings of XML, as files declare them."""
ARCHIVE: Final = b"PK"
"""The first bytes of a ZIP archive."""

_DECLARED: Final = re.compile(
    r"""\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["'](?P<name>[^"'<>]{0,100})["']"""
)


def content_of(raw: bytes) -> str:
    """Return the text of a file, or an archive in base64. Raises FormatError."""
    if raw.startswith(ARCHIVE):
        return b64encode(raw).decode()
    return text_of(raw)


def text_of(raw: bytes) -> str:
    """Return the text of a file.

    Raises FormatError if the encoding is unsupported or wrong.
    """
    encoding = "utf-8-sig"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif raw.startswith(b"<\0?\0"):
        encoding = "utf-16-le"
    elif raw.startswith(b"\0<\0?"):
        encoding = "utf-16-be"
    elif declared := _DECLARED.match(raw[:400].decode("latin-1")):
        encoding = _known(declared["name"])
        if encoding.lower().startswith(("utf-8", "utf8", "utf-16", "utf16")):
            encoding = "utf-8-sig"  # UTF-16 cannot begin with the bytes of an ASCII "<?xml"
    try:
        return raw.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise FormatError(f"this is no text in {encoding.removesuffix('-sig')}: {error}") from None


def check_declared_encoding(text: str) -> None:
    """Raise FormatError if XML declares an unsupported encoding.

    The text is already decoded, so the declared encoding itself does not matter.
    """
    declared = _DECLARED.match(text)
    if declared:
        _known(declared["name"])


def _known(name: str) -> str:
    if ENCODINGS.fullmatch(name) is None:
        raise FormatError(
            f"the encoding {name!r} that the file declares is not supported: save it as UTF-8"
        )
    return name
