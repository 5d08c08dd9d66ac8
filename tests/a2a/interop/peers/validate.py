# mypy: ignore-errors
"""Reads lines of `[type, message]` and prints what the protocol buffers of 1.0 say of each: nothing,
if it is a message of that type, with no member that they do not know and all that are required."""

import json
import sys

import a2a.types.a2a_pb2 as types
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import ParseDict, ParseError


def problem(name, message):
    try:
        validate_proto_required_fields(ParseDict(message, getattr(types, name)()))
    except (ParseError, ValueError) as error:
        return str(error)
    except Exception as error:  # the SDK's own error for what is missing
        return f"{error} {getattr(error, 'data', '')}"
    return ""


for line in sys.stdin:
    print(json.dumps(problem(*json.loads(line))), flush=True)
