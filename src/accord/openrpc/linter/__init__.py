"""The linter: what is wrong with an OpenRPC document, beyond what the meta-schema can say.

finding      what is found, and the rules
shapes       the objects of a document, and a walk over them
references   `$ref`s, followed
schemas      JSON Schema
methods      methods, their params, errors, examples and links
linter       all of it together

Pure: it reads a document that has been decoded, and takes nothing about it for granted.
"""

from accord.openrpc.linter.linter import lint as lint
from accord.openrpc.linter.shapes import RULES as RULES, DocumentFinding as DocumentFinding
