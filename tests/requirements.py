"""What Accord owes its users, by number, each in one line.

`F-…` are requirements of the JSON-RPC foundation, `O-…` of OpenRPC and of the exposure of web
applications, `M-…` of the Model Context Protocol, `H-…` of the requirements hub, `W-…` of workflows
and agents, `Q-…` of the quality of the project itself, `RPC-…` the clauses of the JSON-RPC 2.0
specification: the section's number and a letter. A test that shows one carries
`@pytest.mark.req("F-07")`. `tests/conftest.py` refuses marks that are not listed here, and
`tests/test_requirements.py` fails for those that nothing shows and for packages that do not exist.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Literal

from msgspec import Struct

Proof = Literal["tests", "benchmarks"]


class Requirement(Struct, frozen=True):
    """One thing owed, the package that owes it, and where its proof comes from."""

    id: str
    text: str
    package: str
    proof: Proof = "tests"


_ROWS: dict[tuple[str, Proof], tuple[tuple[str, str], ...]] = {
    ("accord.jsonrpc", "tests"): (
        ("RPC-3a", "Member names and method names match in the same letter case only."),
        ("RPC-3b", "One program may be client and server at once."),
        ("RPC-4a", 'A request says `jsonrpc: "2.0"`, exactly.'),
        ("RPC-4b", "A request's `method` is a string."),
        ("RPC-4c", "A request's `params` may be left out; else they are an array or an object."),
        ("RPC-4d", "A request's `id` is a string, a number or null."),
        ("RPC-4e", "Ids that we issue are neither null nor fractions."),
        ("RPC-4.1a", "A request without `id` is a notification, and is never answered."),
        ("RPC-4.1b", "Nobody hears of an error in a notification, not even of bad params."),
        ("RPC-4.2a", "Params by position come as an array, in the order the method expects."),
        ("RPC-4.2b", "Params by name come as an object whose names match the method's exactly."),
        ("RPC-5a", 'Every other request is answered by one response with `jsonrpc: "2.0"`.'),
        ("RPC-5b", "An answer to a call that worked has `result` and no `error`."),
        ("RPC-5c", "An answer to a call that failed has `error` and no `result`."),
        ("RPC-5d", "An answer has the id of its request, or null where that cannot be told."),
        ("RPC-5.1a", "An error's `code` is an integer."),
        ("RPC-5.1b", "An error's `message` is a short string."),
        ("RPC-5.1c", "An error's `data` is any value, or left out."),
        ("RPC-5.1d", "The five pre-defined codes are used for what they are defined for."),
        ("RPC-5.1e", "Applications choose codes outside -32768 to -32000."),
        ("RPC-6a", "Several requests may be sent together, as an array."),
        ("RPC-6b", "A batch is answered by an array: one answer per request that wants one."),
        ("RPC-6c", "A batch that is not JSON, or is empty, is answered by one error object."),
        ("RPC-6d", "Each element of a batch that is no request gets an error of its own."),
        ("RPC-6e", "A batch with nothing to answer is answered by nothing, not by `[]`."),
        ("RPC-7a", "The specification's examples are answered as it prints them."),
        ("RPC-8a", "Method names that begin with `rpc.` are kept for the protocol."),
        ("F-01", "Requests are parsed strictly; an absent id and a null id stay different."),
        ("F-02", "Answers have either result or error, and the id with its type and value."),
        ("F-03", "Notifications are processed, never answered; their failures are logged."),
        ("F-04", "What is not JSON is answered -32700 with a null id."),
        ("F-05", "JSON that is no message is answered -32600, saying why; a broken answer is not."),
        ("F-06", "An unknown method is answered -32601, with its name and the id."),
        ("F-07", "Bad params are answered -32602, with path, what was expected and what came."),
        ("F-08", "Batches run concurrently, are answered in order, and are limited."),
        ("F-09", "Errors have a code, a message and data; codes are catalogued, or strictly so."),
        ("F-10", "Answers find their calls by id, also calls from other threads."),
        ("F-11", "Many calls run at once in both directions, and none blocks another."),
        ("F-12", "Both ends call and are called on one connection, with ids of their own."),
        ("F-13", "Calls time out, after 30 s unless told otherwise; late answers are dropped."),
        ("F-14", "Ids are counted or UUIDs, never reissued while in use; the counter can end."),
        ("F-15", "A cancelled call leaves nothing behind, and the other end may be told."),
        ("F-18", "When a connection drops, its pending calls fail at once and all is freed."),
        ("F-20", "The state of a connection can be read and observed; a closed one says so."),
        ("F-26", "Causes, correlation ids and remote data survive; tracebacks stay in the log."),
        ("F-28", "At a limit new work is refused as busy, and the rest is served on."),
        ("F-29", "A message over the size limit is answered -32012; the connection survives."),
        ("F-30", "Hostile input crashes nothing."),
        ("F-31", "Refusing a message costs at most twice as much CPU as reading a valid one."),
    ),
    ("accord.transports", "tests"): (
        ("F-16", "Stdio carries a message per line, also with a child process at the other end."),
        ("F-17", "Framing keeps the boundaries of messages, however the bytes arrive."),
        ("F-19", "A URL chooses the transport, and its scheme whether TLS is used."),
        ("F-27", "Transport errors say whether trying again helps; connecting can be retried."),
    ),
    ("accord.transports.options", "tests"): (
        ("F-40", "Incoming messages of all connections together take bounded memory."),
        ("W-28", "Options that are passed on are declared: a misspelt one is found and named."),
    ),
    ("accord.transports.http.web_app", "tests"): (
        ("F-41", "Credentials are checked before a request's body is read, by one hook."),
        ("F-42", "A client that is refused early can read why while it sends on, up to a limit."),
    ),
    ("accord.store", "tests"): (
        ("F-43", "What takes long keeps neither the event loop nor writers waiting."),
    ),
    ("accord.transports.asgi", "tests"): (
        ("O-01", "JSON-RPC by POST at a path of your choice, mounted into any ASGI application."),
        ("O-12", "Batch size, request size, calls in flight and time per call are limited."),
    ),
    ("accord.exposure", "tests"): (
        ("O-02", "Routes of a web application are methods, called in process, middleware and all."),
        ("O-03", "Include and exclude patterns select the routes."),
        (
            "O-04",
            "Methods are named by path, verb and path, route or your own rule; no collisions.",
        ),
        ("O-05", "A route is given its own name, or left out, where it is defined."),
        ("O-06", "A prefix can be put before the name of every method."),
    ),
    ("accord.openrpc.document", "tests"): (
        ("O-07", "Plain functions are described by their annotations."),
        ("O-08", "The description is a complete and valid OpenRPC 1.3.2 document."),
        ("O-09", "The document is served by HTTP and `rpc.discover`, made once per change."),
    ),
    ("accord.openrpc.explorer", "tests"): (
        ("O-13", "A page to find, read and call methods in a browser, offline too."),
    ),
    ("accord.openrpc.clients", "tests"): (
        ("O-14", "Typed clients for Python and TypeScript are generated from a document."),
        ("O-17", "Credentials that a route declares go along from the caller's request."),
        ("O-18", "The document says route, place, format, credentials and files of routes."),
        ("O-19", "Errors about a route's values speak of what the caller sent."),
        ("O-16", "The recipe for cancelling calls holds for notifications and ids that repeat."),
        ("O-15", "Generated clients pass strict checks whatever an API calls its things."),
    ),
    ("accord.telemetry.metrics", "tests"): (
        ("O-10", "Interceptors stand around every call, in order, and can stop it."),
        ("O-11", "Calls, errors, latency, calls in flight and batch sizes as metrics; traces."),
    ),
    ("accord.mcp.server.http", "tests"): (
        ("M-01", "Five versions on one endpoint; a handler is written once for both eras."),
        ("M-02", "In the handshake era nothing is served before the handshake is complete."),
        ("M-03", "Versions are negotiated as the standard says, or strictly."),
        ("M-04", "Capabilities are exchanged and enforced on both sides."),
        ("M-05", "Tools, resources, prompts, completion, logging, pages, progress, cancellation."),
        ("M-08", "Text, images, audio, embedded resources and links as content."),
        ("M-09", "Stdio, Streamable HTTP of both eras, HTTP+SSE, WebSocket, TCP, in memory."),
        ("M-10", "Messages are limited in size by transport, and the limits can be set."),
        ("M-11", "Error codes in two profiles, each error with its reason."),
        (
            "M-12",
            "On every transport request ids are integers or strings, never null, unique in flight.",
        ),
        ("M-13", "Batches are taken where the version has them, or where that is configured."),
        ("M-14", "Every subscriber hears of updates, and nobody else does."),
        (
            "M-17",
            "Origin and Host are checked, sessions bound to their principal, ids unguessable.",
        ),
    ),
    ("accord.mcp.server.task_runner", "tests"): (
        ("M-06", "Servers ask for samples, roots and answers, in the form of each era."),
        ("M-07", "Tasks in both forms: status, result, input, cancellation, expiry."),
    ),
    ("accord.mcp.client.client", "tests"): (
        ("M-15", "A client for every server: typed calls, handlers, new sessions, OAuth."),
    ),
    ("accord.mcp.server.sources.mounting", "tests"): (
        ("M-16", "A server in a few lines: decorators, injection, middleware, mounting, proxies."),
    ),
    ("accord.mcp.protocol.messages", "tests"): (
        ("M-21", "The reason of an error decides which entry of the catalogue it has."),
        (
            "M-27",
            "The page of errors says which are sent; the extended profile has codes that fit.",
        ),
    ),
    ("accord.operations.operation", "tests"): (
        ("M-22", "What clients are told of a tool follows from what its operation can do."),
    ),
    ("accord.mcp.server.core", "tests"): (
        ("M-24", "A method is served if its capability is declared; null params are none."),
    ),
    ("accord.mcp.client.streamable_http", "tests"): (
        ("M-25", "Clients follow 307 and 308 within an origin, and send nothing to another one."),
    ),
    ("accord.mcp.server.components.parameters", "tests"): (
        ("M-26", "Functions of FastMCP work: Field defaults, docstrings of arguments, 3.0 as 3."),
    ),
    ("accord.operations.adapters.mcp_text", "tests"): (
        ("M-23", "Text and structured content of a result say the same, and which words are data."),
    ),
    ("accord.sync", "tests"): (
        ("F-34", "The blocking client can do what the asynchronous one can."),
    ),
    ("accord.operations.arguments", "tests"): (
        ("F-32", "Operations are never called with arguments that have a member twice."),
    ),
    ("accord.mcp.server.session", "tests"): (
        ("F-33", "MCP serves no params or _meta with a member twice, at any depth."),
    ),
    ("accord.transports.asgi.web", "tests"): (
        ("M-20", "A mounted server ends before uvicorn stops, on SIGTERM as on SIGINT."),
    ),
    ("accord.mcp.server.cluster", "tests"): (
        ("M-18", "Several processes serve the same clients."),
    ),
    ("accord.mcp.client.auth", "tests"): (
        ("M-19", "No check of the official conformance suite fails, on either side."),
    ),
    ("accord.cli.serve", "tests"): (
        ("H-01", "Epics, stories, criteria, requirements and more; each by UUID or reference id."),
        ("H-02", "SQLite by default, PostgreSQL by one URL, with versioned migrations."),
        ("H-03", "MCP and plain JSON-RPC at /api/v1/mcp, with a token, else 401."),
        ("H-04", "Malformed JSON is 400 with -32700, an invalid message 400 with -32600."),
        ("H-05", "Calls run as the token's owner; what they may not do is 403 with an error."),
        ("H-06", "Entities are resources by either id, hierarchies too; unknown ones an error."),
        ("H-07", "Prompts are resources, and the active one is the server's instructions."),
        ("H-08", "Tools to create, get, update, delete, list, relate, search and comment."),
        ("H-09", "Arguments are validated by the published schema, and failures name the field."),
        ("H-10", "Prompts come from the database; unknown names are an error."),
        ("H-11", "At most one prompt is active, also when many are activated at once."),
        ("H-12", "Prompts over REST: who may write, what is unknown, what is valid."),
        ("H-13", "Everything else over REST, with an OpenAPI document and problem+json errors."),
        ("H-14", "Administrators, users, commenters; passwords are hashed with Argon2."),
        ("H-15", "Tokens: checksummed, shown once, hashed, with expiry, scopes, revocation."),
        ("H-16", "Rate limits per token and address, shared between processes where configured."),
        ("H-17", "Every call of an operation is on record, append-only and tamper-evident."),
        ("H-18", "Tokens and secrets reach no log, traceback or error message."),
        ("H-19", "Structured logs; internal errors give the caller a correlation id only."),
        ("H-20", "Service errors become codes and statuses in one place."),
        ("H-50", "One rule decides what is verified, for every page, tool and report."),
        ("H-60", "An assistant is named, by client and token, wherever its work is shown."),
        ("H-62", "A baseline shows the text of each item as it was kept."),
        ("H-61", "The history of an item lists changes of its links and labels, with Undo."),
        (
            "H-40",
            "Strangers cannot fill memory: only small forms and some webhook bodies are read.",
        ),
        ("H-41", "Credentials that are none get the same 401 on every adapter."),
        ("H-42", "Agent cards never repeat a host that anybody made up."),
        ("H-43", "Answers say what a caller has left: over REST, JSON-RPC, MCP and A2A."),
        ("H-44", "A full disk is answered 503 with the reason, and the server is not ready."),
    ),
    ("accord.hub.operations.proposals", "tests"): (
        ("H-30", "Nobody accepts their own proposals, but for, signed in, those of their tokens."),
    ),
    ("accord.operations.auth.attempts", "tests"): (
        ("H-45", "Failed authentications are on record and in the log; floods fill neither."),
    ),
    ("accord.operations.audit.record", "tests"): (
        ("H-46", "Audit records of reads name what was read."),
    ),
    ("accord.operations.audit.states", "tests"): (
        (
            "H-34",
            "Items, accounts, tokens, agents and workflows edited past the operations are named.",
        ),
    ),
    ("accord.operations.auth.operations", "tests"): (
        ("H-32", "Accounts, roles, passwords and tokens are changed by no token and by no run."),
    ),
    ("accord.operations.auth.storage", "tests"): (
        ("H-33", "The first token, and each that nobody chose more for, reads and proposes."),
    ),
    ("accord.workflows.operations.run_control", "tests"): (
        ("H-31", "No token approves a workflow run that its owner started."),
    ),
    ("accord.operations.choices", "tests"): (
        ("H-56", "Wrong choices are answered with the valid ones; letter case does not matter."),
    ),
    ("accord.hub.presentation", "tests"): (
        ("H-57", "Filters of lists and searches take several values, and find the unassigned."),
    ),
    ("accord.hub.exchange.matching", "tests"): (
        ("H-22", "Names in a file are of its source; items of another one change only if asked."),
    ),
    ("accord.hub.exchange.importer", "tests"): (
        ("H-23", "The report of an import names everything in the file that is not kept."),
        ("H-24", "An import can be repeated: nothing is refused, nothing is created twice."),
    ),
    ("accord.hub.exchange.reqif_parser", "tests"): (
        ("H-25", "ReqIF files and archives are read within limits; anything else is refused."),
    ),
    ("accord.hub.demo_project", "tests"): (
        ("H-26", "The sample project touches only what it made."),
    ),
    ("accord.web.app", "tests"): (
        ("H-21", "Pages to browse, edit, search, relate, administrate and follow runs."),
        ("H-51", "On a slow network, a page shows one item and never names another."),
        ("H-52", "What was saved, moved or deleted on a page is undone where it is announced."),
        ("H-63", "Changes are in the menu and found by their name in the palette."),
        ("H-53", "Pages fit a phone, print without controls, and draw graphs that show direction."),
        (
            "H-54",
            "The audit log tells people from page views, dry runs from writes, and names tokens.",
        ),
        ("H-58", "A search corrects only words that there are not."),
        ("H-59", "Versions are restored, changes listed, and Done over open work is hinted at."),
        ("H-55", "A write that a token may not do is refused with the way that is open."),
    ),
    ("accord.a2a.client", "tests"): (
        ("W-01", "Agents are called by HTTP POST with JSON-RPC: ids, headers, message."),
        ("W-02", "Input becomes a text part: a text, `text`, `query`, or the value as JSON."),
        ("W-03", "Answers are validated; output is looked for in order; working tasks followed."),
        ("W-04", "Results have one form: task id, status, output, error."),
        ("W-12", "Agents are called in both wire formats, chosen by their card."),
        ("W-27", "An agent's card is valid in the format that is asked for, or preferred."),
        ("W-23", "Results that break their format give a warning and the output they have."),
    ),
    ("accord.a2a.checker.checker", "tests"): (
        ("W-13", "Agents' developers have formats, examples that run, guides and a checker."),
    ),
    ("accord.cli.agent", "tests"): (
        ("W-14", "Agents in the older format are called until they move; those left are listed."),
    ),
    ("accord.workflows.bridge.worker", "tests"): (
        ("W-05", "Wrong answers fail a task with a clear error and a log entry, and nothing else."),
        ("W-06", "Calls are tried again by policy as the same message; then comes a dead letter."),
        ("W-24", "Tasks that fail for good are logged as errors, with what was answered."),
    ),
    ("accord.workflows.agent.app", "tests"): (
        ("W-25", "At /a2a a context goes on over several messages, and tasks have their history."),
        ("W-26", "At /a2a errors name the scope that is missing, and the skills there are."),
    ),
    ("accord.workflows.executor.executor", "tests"): (
        ("W-07", "Workflows run: in sequence, in parallel, by choice, in loops, with people."),
        ("W-09", "Runs survive crashes: nothing is lost, nothing completed runs again."),
        (
            "W-15",
            "A retry continues what did not complete; completed steps run again only if named.",
        ),
        (
            "W-16",
            "What cannot be decided on stays, says why, delays no other run, and goes on later.",
        ),
        (
            "W-17",
            "Failures say what to do: the flag that is missing, what was answered, where to retry.",
        ),
        ("W-18", "A run says what it waits for; approvals show a message and data."),
    ),
    ("accord.workflows.bus.kafka", "tests"): (
        ("W-10", "Logs, metrics, and traces across executor, broker, bridge and agent."),
        ("W-08", "Tasks and results travel by Kafka, or by the tables, with the same promises."),
    ),
    ("accord", "tests"): (
        ("Q-01", "Each requirement names a package that exists, and something shows it."),
        ("Q-02", "What outsiders see is kept as snapshots, so that a change of it is visible."),
        ("Q-04", "Limits on nesting are explicit, and the same on every version of Python."),
        ("Q-03", "Locked packages are pinned with each extra that another one asks them for."),
        ("Q-10", "Tests pass on a busy machine: none asserts how long something took."),
        ("Q-11", "Commands run without extras they do not need, and name the one they lack."),
        ("Q-12", "A wheel to give away carries all that the pages need, or is not built."),
    ),
    ("accord.workflows.bridge.worker", "benchmarks"): (
        ("W-11", "Building a request takes less than 5 ms, reading an answer less than 10 ms."),
    ),
    ("accord.jsonrpc", "benchmarks"): (
        ("F-21", "A message under 1 KB takes less than 1 ms at the 99th percentile, in process."),
        ("F-22", "More than 10,000 messages a second on one connection; workers share the load."),
        ("F-23", "Params and results stay raw until decoded; output goes to reused buffers."),
        ("F-24", "Everything is bounded and released: memory stays flat."),
        ("F-25", "Encoding or decoding a message costs about a microsecond."),
    ),
}


def _order(requirement: Requirement) -> str:
    """The clauses as they are listed, then the requirements by number."""
    return "" if requirement.id.startswith("RPC-") else requirement.id


def unique(requirements: Iterable[Requirement]) -> dict[str, Requirement]:
    """Return requirements by id, clauses first. Raises ValueError for an id that is there twice."""
    found: dict[str, Requirement] = {}
    for each in sorted(requirements, key=_order):
        if each.id in found:
            raise ValueError(f"{each.id} is listed twice in tests/requirements.py")
        found[each.id] = each
    return found


def unknown_packages(requirements: Iterable[Requirement]) -> list[str]:
    """Return a line for each package that does not exist, with the requirements that name it."""
    ids: dict[str, list[str]] = {}
    for each in requirements:
        ids.setdefault(each.package, []).append(each.id)
    return [
        f"{package}, which owes {', '.join(owed)}"
        for package, owed in ids.items()
        if not _exists(package)
    ]


def _exists(package: str) -> bool:
    """Whether there is such a module. A folder that only has a __pycache__ left is none."""
    try:
        spec = find_spec(package)
    except ModuleNotFoundError:  # of a package above it
        return False
    return spec is not None and spec.origin is not None


REQUIREMENTS: dict[str, Requirement] = unique(
    Requirement(id, text, package, proof)
    for (package, proof), rows in _ROWS.items()
    for id, text in rows
)
