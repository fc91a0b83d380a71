"""`make demo`: a preempted training run, its late saves, and its replacement, on this machine.

Two scenes with the same trainers and the same order of events. In the first each execution writes
its own folder and the `publish` program makes its saves visible; in the second all share one
folder and resume from its highest number. What the verdict says is read from the saves.
"""
