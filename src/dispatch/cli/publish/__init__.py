"""`publish`, the helper inside a job: starts fast, behaves in shell scripts, never surprises."""
