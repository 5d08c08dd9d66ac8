"""Routes of a web application as functions with named arguments, called in process.

What OpenRPC and MCP share: neither is known here.
"""

from accord.exposure.find import find_routes as find_routes
from accord.exposure.marks import rpc_hidden as rpc_hidden, rpc_name as rpc_name
from accord.exposure.naming import Naming as Naming, name_routes as name_routes
from accord.exposure.route import (
    Route as Route,
    RouteParameter as RouteParameter,
    RouteResponse as RouteResponse,
)
from accord.exposure.selection import Select as Select, Selection as Selection, select as select
