"""Means to verify wakefold and programs built on it: conformance vectors and property strategies."""
