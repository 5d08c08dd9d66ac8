"""Operations: one typed function becomes a REST route, an MCP tool, a JSON-RPC method, a command.

    operations = Registry()

    @operations.write("create_epic", right="write", rest=Rest("POST", "/epics", status=201))
    async def create_epic(work: Work, *, title: Title) -> Epic: ...

errors     refusals, with their names and codes on each interface
context    the context of an operation: rights, caller, database, effects, new ids, the time
operation  one operation as a value, its abilities, and the outcome of a call
registry   the decorators, and all operations by name
arguments  decoding and checking of arguments; `choices` has fixed sets of values
runner     checks permission, opens the transaction, writes the audit record; idempotency keys
pages      pages of lists, and the cursors that lead from one page to the next
auth       users, tokens, sessions, and the way from a request to its caller
ratelimit  token buckets: in memory, in the database, in Redis
audit      the audit trail
adapters   REST, JSON-RPC and MCP; they decode, run and encode, and decide nothing
logs       structured logs without secrets
storage    SQL of the tables of stored settings, idempotency keys and rate limits

This package depends on no concrete operation, such as those of the hub or of workflows.
"""
