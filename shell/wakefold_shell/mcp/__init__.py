"""The MCP server: the reminders of a session for whatever client speaks the protocol (extra `mcp`)."""
