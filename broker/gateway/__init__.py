"""The MCP door: tools for agents over streamable HTTP and stdio, by identity, each call through our own outbox.

A request walks: `auth` (whose token) -> `acl` (which tools, under which authority) -> `shape` (closed schema) ->
`carrying` (accepted, posted, awaited) -> `render` (what the client reads). Nothing of a context comes from arguments.
"""
