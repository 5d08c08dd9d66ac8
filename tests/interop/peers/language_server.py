"""A language server on pygls, over stdio: it knows words, and minds the word TODO."""

from __future__ import annotations

import asyncio
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

server = LanguageServer("words", "1.0")


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
def opened(ls: LanguageServer, params: lsp.DidOpenTextDocumentParams) -> None:
    document = params.text_document
    found = [
        lsp.Diagnostic(
            lsp.Range(lsp.Position(number, line.index("TODO")), lsp.Position(number, len(line))),
            f"still to do: {line}",
        )
        for number, line in enumerate(document.text.splitlines())
        if "TODO" in line
    ]
    ls.text_document_publish_diagnostics(
        lsp.PublishDiagnosticsParams(document.uri, found, document.version)
    )


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def hover(ls: LanguageServer, params: lsp.HoverParams) -> lsp.Hover:
    document = ls.workspace.get_text_document(params.text_document.uri)
    return lsp.Hover(f"the word {document.word_at_position(params.position)}")


@server.feature(lsp.TEXT_DOCUMENT_COMPLETION)
def complete(ls: LanguageServer, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    document = ls.workspace.get_text_document(params.text_document.uri)
    return [lsp.CompletionItem(word) for word in sorted(set(document.source.split()))]


@server.command("words.language")
async def language(ls: LanguageServer, *arguments: Any) -> Any:
    """What the client is set to: asks it back."""
    items = [lsp.ConfigurationItem(section="words.language")]
    [value] = await ls.workspace_configuration_async(lsp.ConfigurationParams(items))
    return value


@server.feature("words/wait")
async def wait(ls: LanguageServer, params: Any) -> None:
    ls.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, "waiting"))
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        ls.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, "cancelled"))
        raise


server.start_io()
