"""The programs: the only place that reads the environment and prints."""
