"""The ledger of attempts as version 2 had it, and as it is read after an upgrade."""

OLD_ATTEMPTS = """CREATE TABLE {0} (key TEXT NOT NULL, attempt BIGINT NOT NULL, status TEXT NOT NULL,
prompt_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, price_usd {1} NOT NULL,
PRIMARY KEY (key, attempt))"""
"""The ledger's table up to version 2."""
OLD_LEDGER = """INSERT INTO {0} VALUES ('k', 1, 'not-done', 0, 0, 0), ('k', 2, 'failed', 0, 0, 0),
('k', 3, 'begun', 0, 0, 0), ('k', 4, 'done', 10, 20, 0.5)"""
LEDGER = (
    "SELECT status, prompt_tokens, output_tokens, price_usd FROM attempts WHERE key = 'k' ORDER BY attempt"
)
NEW_LEDGER = [
    ("not-done", 0, 0, 0.0), ("failed", None, None, None), ("begun", None, None, None), ("done", 10, 20, 0.5)
]  # fmt: skip
