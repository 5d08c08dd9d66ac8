"""Input requests: elicitation, sampling and roots, in both eras.

ask                 the input channels of handlers, and the checks of answers
elicitation         questions to the user
sampling_and_roots  questions to the client's model, and for its roots
forms               forms of elicitations, and the check of their answers
request_state       state of a request between its rounds, sealed

`ask` imports all others, `elicitation` imports `forms`. `accord.mcp.protocol.input_requests` has
the params and results of these requests, `accord.mcp.client.input_requests` the client's handlers.
"""
