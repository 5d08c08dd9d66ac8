"""The linter: faults of an OpenRPC document that the meta-schema cannot express.

shapes   the rules, their findings, and a walk over the objects of a document
checks   references, schemas and methods, with their params, errors, examples and links
linter   `lint`: all rules, applied to one document

Pure: it reads a decoded document, and assumes nothing about it.
"""

from accord.openrpc.linter.linter import lint as lint
from accord.openrpc.linter.shapes import RULES as RULES, DocumentFinding as DocumentFinding
