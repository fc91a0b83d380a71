"""The machine itself: threads, and whatever else the core may not touch."""
