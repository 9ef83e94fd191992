"""The go-between: decides and remembers; never fetches."""
