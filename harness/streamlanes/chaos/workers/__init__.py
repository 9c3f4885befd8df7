"""What workers under chaos do, a module a mode: the standard library, `durable` and `saying` only."""
