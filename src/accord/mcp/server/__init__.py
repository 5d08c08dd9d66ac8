"""MCP servers: tools, resources and prompts that assistants use.

server          `Server`: the components that an application offers
server_state    the protocol of a server's settings and components; lifespan and middleware
serving         serving a server at a URL
options         the types of keyword options
core            the table of methods, and the path of a request to a method
methods         the methods of the protocol
components      tools, resources and prompts, and their lists
handler_runner  contexts, deadlines and errors of handlers, and the encoding of results
context         `Context`: what a handler knows of its request, and how it reaches the client
input_requests  questions of handlers to the client
session         sessions, incoming requests, and links to clients
listeners       listeners for changes of components
task_runner     tasks: running, watching and cancelling them
task_store      records of tasks, and their store
auth            authentication and authorization
http            MCP over HTTP
cluster         several processes that serve the same clients
sources         components from routers, web applications and other servers

The protocol has two eras. In the handshake era (versions up to 2025-11-25) a client begins a
session by `initialize`. In the stateless era (2026-07-28) there are no sessions.
"""
