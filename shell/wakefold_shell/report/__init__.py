"""A report: one page about a session, for a browser, without any network."""
