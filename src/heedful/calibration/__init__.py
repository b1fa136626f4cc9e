"""How often is a test wrong? Models whose answer is known, audited and counted."""
