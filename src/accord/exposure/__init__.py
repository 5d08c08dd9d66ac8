"""Routes of a web application as functions with named arguments, called in process.

OpenRPC and MCP share this package; it depends on neither.
"""

from accord.exposure.find import find_routes as find_routes
from accord.exposure.routes import (
    Naming as Naming,
    Route as Route,
    RouteParameter as RouteParameter,
    RouteResponse as RouteResponse,
    Select as Select,
    Selection as Selection,
    name_routes as name_routes,
    rpc_hidden as rpc_hidden,
    rpc_name as rpc_name,
    select as select,
)
