"""Run the Python examples of one page, in order and in one namespace.

    run_python.py FILE...

Each file is one block. One with prompts is compared with what it shows; another must run.
"""

import doctest
import sys
from pathlib import Path


def main() -> int:
    """Run the blocks; how many failed."""
    namespace: dict[str, object] = {"__name__": "example"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for name in sys.argv[1:]:
        text = Path(name).read_text(encoding="utf-8")
        if ">>> " in text:
            test = doctest.DocTestParser().get_doctest(text, namespace, name, name, 0)
            runner.run(test, clear_globs=False)
            namespace.update(test.globs)
        else:
            exec(compile(text, name, "exec"), namespace)
    return runner.summarize(verbose=False).failed


if __name__ == "__main__":
    sys.exit(main())
