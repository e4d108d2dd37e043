"""The thin shell around wakefold's core: it performs what the core decides, and decides nothing."""
