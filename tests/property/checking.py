"""How much a property is tried, and how one is tried on a design that is known to be wrong."""

from hypothesis import HealthCheck, Phase, settings

EXAMPLES_MAX = 10_000  # the nightly profile's number is the most that makes sense


def settings_for(*, is_wrong: bool = False, factor: float = 1) -> settings:
    """Choose how to try a property.

    Args:
        is_wrong: The design is known to be wrong: look for one failure, the same in every run,
            and leave it as it was found.
        factor: How many times the profile's examples are tried; below 1 for what is slow.
    """
    examples = min(round(settings().max_examples * factor), EXAMPLES_MAX)
    if is_wrong:
        return settings(
            max_examples=max(examples, 1000),
            derandomize=True,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            deadline=None,
            print_blob=False,
        )
    return settings(max_examples=examples)
