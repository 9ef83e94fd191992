"""The pages: server-rendered, for people; one module a place, each a router."""
