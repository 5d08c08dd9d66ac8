"""Input requests: elicitation, sampling and roots, in both eras.

ask              the input channels of handlers, and the checks of clients' answers
client_features  questions to the user and to the client's model, and for the client's roots
forms            forms of elicitations, and the check of their answers
request_state    the sealed state of a request between its rounds

`ask` imports all others, `client_features` imports `forms`. The params and results of these
requests are in `accord.mcp.protocol.input_requests`, the client's handlers in
`accord.mcp.client.inbox`.
"""
