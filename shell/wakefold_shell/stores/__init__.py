"""Stores: where a session's log lives."""
