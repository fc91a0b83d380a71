"""What `publish` and its log cost, beside what the machine itself costs, in the same run."""
