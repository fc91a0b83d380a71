"""What the core needs of the outside, as small Protocols owned by their consumers."""
