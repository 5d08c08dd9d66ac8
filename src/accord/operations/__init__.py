"""Operations: one typed function becomes a REST route, an MCP tool, a JSON-RPC method, a command.

    operations = Registry()

    @operations.write("create_epic", right="write", rest=Rest("POST", "/epics", status=201))
    async def create_epic(work: Work, *, title: Title) -> Epic: ...

    errors      what can go wrong, and what it is called on each face
    rights      who may do what: roles, scopes
    caller      who calls
    work        what an operation is given: its database, its caller, the time; what it did
    operation   one operation as a value
    registry    the decorators, and all operations by name
    runner      the one place that checks permission, opens the transaction and writes the record

Faces (`accord.operations.faces`) offer the operations of a registry; they decide nothing. Accounts
(`accord.operations.accounts`) tell who calls; the audit trail (`accord.operations.audit`) keeps
what they did. Nothing here knows what the operations are about.
"""
