#!/bin/sh
# Make a virtual environment that has pip: tools/venv.sh DIRECTORY [OPTION]...
# PYTHON names the interpreter, python3 unless set. Debian keeps what `venv` needs in a package of
# its own: root gets it installed, others are told.
set -eu

python=${PYTHON:-python3}

stop() {
    echo "tools/venv.sh: $1" >&2
    exit 1
}

command -v "$python" >/dev/null ||
    stop "no program $python: install Python 3.11 or later, or name one with PYTHON=..."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    stop "$("$python" --version) is too old: name Python 3.11 or later with PYTHON=..."

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "tools/venv.sh: installing python3-venv, which $python lacks"
        apt-get -qq update
        DEBIAN_FRONTEND=noninteractive \
            apt-get -qq install -y --no-install-recommends python3-venv >/dev/null
    else
        stop "$python can't make virtual environments: as root, run apt-get install python3-venv"
    fi
fi

exec "$python" -m venv "$@"
