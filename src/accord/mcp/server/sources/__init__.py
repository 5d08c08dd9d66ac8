"""Components from elsewhere: routers, web applications, other servers.

from_router  methods of a JSON-RPC router as tools
from_app     routes of a web application as tools and resources
mounting     components of another server in this process, under a prefix
proxy        components of a server at any address
upstream     the connections of a proxy to its server
"""
