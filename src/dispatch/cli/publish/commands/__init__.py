"""One module for each command: ``run(arguments, output)`` answers with the exit status."""
