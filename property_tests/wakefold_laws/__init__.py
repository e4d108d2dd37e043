"""Means to verify wakefold and programs built on it: laws, strategies, models, conformance."""
