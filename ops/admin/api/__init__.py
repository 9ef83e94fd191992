"""The API: one module a resource, each a router."""
