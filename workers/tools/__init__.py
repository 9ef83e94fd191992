"""One handler a tool, same name as its contract."""
