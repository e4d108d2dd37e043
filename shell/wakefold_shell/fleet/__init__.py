"""Sessions in PostgreSQL, woken by whichever worker is free (extra `fleet`; asyncio alone)."""
