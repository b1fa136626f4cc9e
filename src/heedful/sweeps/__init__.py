"""A grid of settings to many trainings and audits, and one table of what came of them."""
