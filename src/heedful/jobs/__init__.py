"""Many trainings, or other work, at once: in parallel, within a budget, resumable."""
