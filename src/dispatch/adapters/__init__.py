"""The outside: stores, schedulers and the machine, each behind a port."""
