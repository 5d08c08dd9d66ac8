"""Traceability: what covers what, what is missing, and what a change touches."""

from __future__ import annotations

from typing import Final

from accord.web.pages.traceability import coverage, graph, matrix

PAGES: Final = (coverage.pages, graph.pages, matrix.pages)
