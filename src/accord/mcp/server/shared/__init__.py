"""Several processes that serve the same clients, with what they share in an `accord.store`.

shared          `Shared`: all of it, for one endpoint
worker          one of the processes: its number, its mailbox, who is alive
mail            what they tell each other
session_state   what is kept of a session, and how two changes of it become one
sessions        where sessions are found, by all
events          what was sent on streams, to be sent again by any of them
tasks           where tasks are kept, by all
changes         changes of lists and resources, told to the clients of all
"""
