"""The papers' other instruments: what is counted and computed beside the audit."""
