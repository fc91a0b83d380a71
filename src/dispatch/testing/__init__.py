"""For those who test an adapter or a program of their own: fakes, faults and contract suites.

Nothing that is shipped for production imports this package.

- `dispatch.testing.memory`: a store in memory, stricter than any real one.
- `dispatch.testing.crashfs`: a file system in memory that can lose power.
- `dispatch.testing.faults`: faults and pauses at any system call of any file system.
- `dispatch.testing.contracts`: what every store and file system must do (needs pytest).
"""
