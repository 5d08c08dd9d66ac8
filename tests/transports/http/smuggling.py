"""Requests on which two lenient readers can disagree, and the status each is answered with.

The sources: RFC 9112, sections 2.2, 3, 5, 6, 7 and 11.2; the published attacks CL.TE, TE.CL,
TE.TE, CL.0 and H2C; and the leniencies of llhttp that were reported as such.
"""

from __future__ import annotations


def _head(*lines: bytes, start: bytes = b"POST /rpc HTTP/1.1", host: bytes = b"Host: x") -> bytes:
    fields = (host, b"Content-Type: application/json", *lines)
    return b"\r\n".join((start, *fields)) + b"\r\n\r\n"


LENGTH = b"Content-Length: 3"
CHUNKED = b"Transfer-Encoding: chunked"

MALFORMED_HEADS: dict[str, tuple[int, bytes]] = {
    # where the body ends
    "length and chunked": (400, _head(LENGTH, CHUNKED)),
    "chunked and length": (400, _head(CHUNKED, LENGTH)),
    "two lengths": (400, _head(LENGTH, b"Content-Length: 4")),
    "the same length twice": (400, _head(LENGTH, LENGTH)),
    "a list of lengths": (400, _head(b"Content-Length: 3, 3")),
    "a positive length": (400, _head(b"Content-Length: +3")),
    "a negative length": (400, _head(b"Content-Length: -3")),
    "an empty length": (400, _head(b"Content-Length:")),
    "a hexadecimal length": (400, _head(b"Content-Length: 0x3")),
    "a length with an underscore": (400, _head(b"Content-Length: 1_0")),
    "a length with a space in it": (400, _head(b"Content-Length: 1 0")),
    "a length in other digits": (400, _head("Content-Length: ３".encode())),
    "a huge length": (400, _head(b"Content-Length: " + b"9" * 30)),
    "a length of a petabyte": (400, _head(b"Content-Length: 1000000000000000")),
    "a length of 2^64": (400, _head(b"Content-Length: 18446744073709551616")),
    "an unknown coding": (400, _head(b"Transfer-Encoding: xchunked")),
    "chunked twice": (400, _head(CHUNKED, CHUNKED)),
    "chunked twice in a list": (400, _head(b"Transfer-Encoding: chunked, chunked")),
    "chunked before another coding": (400, _head(b"Transfer-Encoding: chunked, gzip")),
    "chunked after another coding": (501, _head(b"Transfer-Encoding: gzip, chunked")),
    "identity": (400, _head(b"Transfer-Encoding: identity")),
    "an empty coding": (400, _head(b"Transfer-Encoding:")),
    "a quoted coding": (400, _head(b'Transfer-Encoding: "chunked"')),
    "a coding behind a vertical tab": (400, _head(b"Transfer-Encoding: \x0bchunked")),
    "a coding with a parameter": (400, _head(b"Transfer-Encoding: chunked;q=1")),
    "a coding in HTTP/1.0": (400, _head(CHUNKED, start=b"POST /rpc HTTP/1.0")),
    # where a line or a field ends
    "a folded field": (400, _head(b"X: a", b" b")),
    "a folded coding": (400, _head(b"Transfer-Encoding:", b" chunked")),
    "a fold before the first field": (400, _head(host=b" Host: x")),
    "a space before the colon": (400, _head(b"Content-Length : 3")),
    "a tab before the colon": (400, _head(b"Transfer-Encoding\t: chunked")),
    "no colon": (400, _head(b"Content-Length 3")),
    "no name": (400, _head(b": 3")),
    "a space in a name": (400, _head(b"Content Length: 3")),
    "a control character in a name": (400, _head(b"Content\x01Length: 3")),
    "a letter beyond ASCII in a name": (400, _head(b"Content\xadLength: 3")),
    "a bracket in a name": (400, _head(b"Content(Length: 3")),
    "a null byte in a value": (400, _head(b"X: a\x00b")),
    "a control character in a value": (400, _head(b"X: a\x08b")),
    "a bare CR in a value": (400, _head(b"X: a\rTransfer-Encoding: chunked")),
    "a bare LF in a value": (400, _head(b"X: a\nTransfer-Encoding: chunked")),
    "a CR before the CRLF": (400, _head(b"X: a\r")),
    # whom it is for
    "no host": (400, b"POST /rpc HTTP/1.1\r\nContent-Length: 0\r\n\r\n"),
    "two hosts": (400, _head(b"Host: y")),
    "the same host twice": (400, _head(b"Host: x")),
    "an empty host": (400, _head(host=b"Host:")),
    "a host with a path": (400, _head(host=b"Host: x/y")),
    "a host with a user": (400, _head(host=b"Host: x@y")),
    "a host and another": (400, _head(host=b"Host: x, y")),
    "a host with a wrong port": (400, _head(host=b"Host: x:port")),
    "another host in the target": (400, _head(start=b"POST http://y/rpc HTTP/1.1")),
    "a user in the target": (400, _head(start=b"POST http://u@x/rpc HTTP/1.1")),
    "another scheme in the target": (400, _head(start=b"POST ftp://x/rpc HTTP/1.1")),
    "an authority as target": (400, _head(start=b"POST x:80 HTTP/1.1")),
    "a tunnel": (400, _head(start=b"CONNECT x:80 HTTP/1.1")),
    "an asterisk as target": (400, _head(start=b"POST * HTTP/1.1")),
    "a fragment in the target": (400, _head(start=b"POST /rpc#x HTTP/1.1")),
    "a relative target": (400, _head(start=b"POST rpc HTTP/1.1")),
    # the request line
    "two spaces": (400, _head(start=b"POST  /rpc HTTP/1.1")),
    "a tab for a space": (400, _head(start=b"POST\t/rpc HTTP/1.1")),
    "a space in the target": (400, _head(start=b"POST /r pc HTTP/1.1")),
    "a letter beyond ASCII in the target": (400, _head(start=b"POST /r\xe9 HTTP/1.1")),
    "a null byte in the target": (400, _head(start=b"POST /r\x00 HTTP/1.1")),
    "a space behind the version": (400, _head(start=b"POST /rpc HTTP/1.1 ")),
    "a space before the method": (400, _head(start=b" POST /rpc HTTP/1.1")),
    "a longer version": (400, _head(start=b"POST /rpc HTTP/1.10")),
    "a zero before the version": (400, _head(start=b"POST /rpc HTTP/01.1")),
    "a version in lower case": (400, _head(start=b"POST /rpc http/1.1")),
    "no version": (400, b"POST /rpc\r\n\r\n"),
    "another protocol": (400, _head(start=b"POST /rpc RTSP/1.0")),
    "an old version": (505, _head(start=b"POST /rpc HTTP/0.9")),
    "a newer minor version": (505, _head(start=b"POST /rpc HTTP/1.2")),
    "a newer version": (505, _head(start=b"POST /rpc HTTP/2.0")),
    "the preface of HTTP/2": (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "an unknown method": (501, _head(start=b"SPELL /rpc HTTP/1.1")),
    "a method in lower case": (501, _head(start=b"post /rpc HTTP/1.1")),
    "two empty lines before the request": (400, b"\r\n\r\n" + _head(LENGTH) + b"abc"),
    # too much of it
    "too many fields": (431, _head(*(b"X-%d: y" % n for n in range(101)))),
}

MALFORMED_STARTS: dict[str, bytes] = {
    "lines that end with LF": b"POST /rpc HTTP/1.1\nHost: x\nContent-Length: 3\n\nabc",
    "lines that end with CR": b"POST /rpc HTTP/1.1\rHost: x\r\r",
    "one line that ends with LF": b"POST /rpc HTTP/1.1\r\nHost: x\nX: y\r\n",
    "an LF before the request": b"\nPOST /rpc HTTP/1.1\r\nHost: x\r\n",
    "a TLS handshake": bytes.fromhex("16030100c8010000c40303"),
    "a null byte": b"POST /rpc\x00",
}
"""Heads without an end to them, answered 400 as soon as that is clear."""

MALFORMED_BODIES: dict[str, bytes] = {
    "a positive chunk size": b"+3\r\nabc\r\n0\r\n\r\n",
    "a negative chunk size": b"-3\r\nabc\r\n0\r\n\r\n",
    "a chunk size with a prefix": b"0x3\r\nabc\r\n0\r\n\r\n",
    "a chunk size with an underscore": b"0_3\r\nabc\r\n0\r\n\r\n",
    "a chunk size with a space": b"3 \r\nabc\r\n0\r\n\r\n",
    "a chunk size behind a space": b" 3\r\nabc\r\n0\r\n\r\n",
    "no chunk size": b"\r\nabc\r\n0\r\n\r\n",
    "a huge chunk size": b"fffffffffffffffff\r\nabc\r\n0\r\n\r\n",
    "a chunk size that ends with LF": b"3\nabc\r\n0\r\n\r\n",
    "a chunk size that ends with CR": b"3\rabc\r\n0\r\n\r\n",
    "a chunk size that ends with CRCRLF": b"3\r\r\nabc\r\n0\r\n\r\n",
    "an extension that ends with LF": b"3;a=b\nabc\r\n0\r\n\r\n",
    "an extension with a null byte": b"3;a=\x00\r\nabc\r\n0\r\n\r\n",
    "an extension without an end": b"3;" + b"a" * 300,
    "many extensions": (b"1;" + b"a" * 200 + b"\r\nx\r\n") * 30,
    "a chunk longer than its size": b"3\r\nabcd\r\n0\r\n\r\n",
    "a chunk shorter than its size": b"3\r\nab\r\n0\r\n\r\n",
    "a chunk that ends with LF": b"3\r\nabc\n0\r\n\r\n",
    "an end with LF": b"3\r\nabc\r\n0\n\n",
    "a trailer that is none": b"3\r\nabc\r\n0\r\nabc\r\n\r\n",
    "a trailer with a space before the colon": b"0\r\nX : y\r\n\r\n",
    "a folded trailer": b"0\r\nX: y\r\n z\r\n\r\n",
    "a trailer that ends with LF": b"0\r\nX: y\n\r\n",
}
"""Chunked bodies, each answered 400."""
