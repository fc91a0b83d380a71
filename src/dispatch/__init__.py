"""Submit and supervise multi-node training jobs; make an old run's overlap with the new harmless.

This module holds the version only, so that importing any part of dispatch stays cheap. The public
interface is in the packages: `dispatch.checkpoint` for publications, `dispatch.errors` for errors.
"""

__version__ = "0.1.0"
