"""The `wakefold` command: exit 0 fine, 1 the input is bad, 2 usage; errors are one sentence."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process and exit; without the extra `cli`, say how to get it."""
    try:
        import typer  # noqa: F401, PLC0415 - an extra
    except ImportError:
        sys.exit("wakefold: the command line needs the extra 'cli': pip install 'wakefold[cli]'.")
    from wakefold_shell.cli.app import run  # noqa: PLC0415 - imports the extra

    sys.exit(run(sys.argv[1:]))
