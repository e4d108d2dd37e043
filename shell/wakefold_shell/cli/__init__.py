"""The `wakefold` command."""


def main() -> None:
    """Run."""
