"""Pipes: the core, and what happens to a shell, as JSON Lines for programs in any language."""
