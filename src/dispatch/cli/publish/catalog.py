"""What every command takes: the one table that parsing, help and the reference are made from."""

from __future__ import annotations

from dispatch.cli.publish.arguments import Command, Flag

_CHECKPOINT = Flag(
    "checkpoint",
    "ROOT",
    "The checkpoint root: an absolute path of a folder, or s3://BUCKET/PREFIX.",
)
_STORE = (
    Flag("endpoint", "URL", "S3: the store, over AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL."),
    Flag("region", "NAME", "S3: the bucket's region, over AWS_REGION and AWS_DEFAULT_REGION."),
    Flag("addressing", "STYLE", "S3: where the bucket stands in a URL: auto, path or virtual."),
    Flag("ca-file", "PEM", "S3: a file of certificates to trust instead of the usual ones."),
    Flag("insecure-http", "", "S3: let plain http leave this machine."),
    Flag("creds", "SOURCES", "S3: where keys come from, in order; may be repeated.", repeats=True),
    Flag("proxy", "URL", "S3: the proxy; the environment's are never used."),
)
_ATTEMPT = Flag("attempt", "TOKEN", "This execution's attempt, over DISPATCH_ATTEMPT.")
_EPOCH = Flag("epoch", "NUMBER", "This execution's epoch, over DISPATCH_EPOCH.")
_FRAMEWORK = Flag("framework", "NAME", "Who writes the saves: hf (Trainer) or dcp (PyTorch DCP).")
_SYNC = Flag("sync", "", "Sync each save's files and folders before it is published.")
_JSON = Flag("json", "", "One JSON document as the answer; objects on stderr, one a line.")
_DEBUG = Flag("debug", "", "Show the traceback of an unexpected fault.")
_COMMON = (_JSON, _DEBUG)


_RESOLVE = """\
Prints the absolute path of the latest published save: the greatest (epoch, step).
Prints nothing, with status 0, when nothing is published. A pure read: it needs no
write permission, and does not look at the save itself."""
_RESOLVE_EXAMPLE = """\
$ RESUME=$(publish resolve -checkpoint /lustre/team/finetune) || exit 1
$ echo "$RESUME"
/lustre/team/finetune/exec/1.4101.0.9f3a/checkpoint-500"""

_WATCH = """\
Looks into ROOT/exec/$DISPATCH_ATTEMPT every interval and publishes what is
complete; one line on stderr for each. On SIGTERM or SIGINT it looks once more and
ends with status 0. The first error ends it with status 1: a job script should
treat a watch that ended early as a failure. A scheduler that signals every process
of a job (Slurm does) ends it before a trainer's last save is finished."""
_WATCH_EXAMPLE = """\
$ publish watch -checkpoint /lustre/team/finetune -framework hf &
publish: published step 500: /lustre/team/finetune/exec/1.4101.0.9f3a/checkpoint-500"""

_PUBLISH = """\
Publishes SAVE, a folder or a file below ROOT (absolute, or relative to the working
directory), as saved at STEP. What counts is how its path is spelled. When it is
published already, a line on stderr says so and the status is 0."""
_PUBLISH_EXAMPLE = """\
$ publish publish -checkpoint /lustre/team/finetune \\
    /lustre/team/finetune/exec/1.4101.0.9f3a/checkpoint-500 500
publish: published step 500: /lustre/team/finetune/exec/1.4101.0.9f3a/checkpoint-500"""

_PRUNE = """\
Keeps the latest N publications (the latest always stays) and deletes the folders
that only the others named. Folders left in place are named on stderr, each with
the reason. Several prunes may run at once. Status 1 when a folder that should go
could not be removed."""
_PRUNE_EXAMPLE = """\
$ publish prune -checkpoint /lustre/team/finetune -keep 3 -v
entry 00000000000001000000-00000000000000000100-MV4GKYZPGEXDIMJQGEXDALRZMYZWCL3TORSXALJRGAYA
folder /lustre/team/finetune/exec/1.4101.0.9f3a/step-100"""

_LOG = """\
One line for each: epoch (generation, submission, restart), step, age, path. Marks
the latest, and those of a higher step that it outranks by epoch."""
_LOG_EXAMPLE = """\
$ publish log -checkpoint /lustre/team/finetune
g0 n2 r0  100   12s  latest     exec/2.4102.0.77c1/checkpoint-100
g0 n1 r0  5000  20s  outranked  exec/1.4101.0.9f3a/checkpoint-5000"""

_RETRACT = """\
Removes one entry, given by its name in pub/, and never the folder that it names.
Says what resolve answers before and after. Asks on a terminal, and needs -yes
elsewhere."""
_RETRACT_EXAMPLE = """\
$ publish retract -checkpoint /lustre/team/finetune -yes \\
    00000000000001000000-00000000000000000500-MV4GKYZPGEXDIMJQGEXDAL3DNBSWG23QN5UW45BNGUYDA"""

_PROBE = """\
Makes names in ROOT/.probe-<random>, never in pub/, and says from this very node what
holds: one line for each check, ok, warn or FAIL, and under it what to do. Removes
what it made, also when it fails or is signalled. Status 1 when anything says FAIL.
With -peer it also measures, together with a probe of the same word on another node,
how long a name made on one takes to be seen on the other."""
_PROBE_EXAMPLE = """\
$ publish probe -checkpoint /lustre/team/finetune
ok    reachable           lustre (0.3 ms)
ok    listable            2 publications, the latest of step 100 (0.9 ms)
ok    writable            a name was created (1.4 ms)
ok    exclusive creation  a second creation was refused (0.6 ms)
..."""

COMMANDS = {
    command.name: command
    for command in (
        Command(
            "resolve",
            summary="print the save to resume from, or nothing",
            details=_RESOLVE,
            flags=(_CHECKPOINT, *_STORE, *_COMMON),
            example=_RESOLVE_EXAMPLE,
        ),
        Command(
            "watch",
            summary="publish each save of this execution once it is complete",
            details=_WATCH,
            flags=(
                _CHECKPOINT,
                _FRAMEWORK,
                Flag("interval", "DURATION", "From one scan to the next.", "10s"),
                Flag("timeout", "DURATION", "End when the store is silent this long.", "2m"),
                Flag("saves", "DIR", "The folder of the saves, when it is another one."),
                Flag("once", "", "Scan once, and end."),
                _SYNC,
                _ATTEMPT,
                _EPOCH,
                *_STORE,
                *_COMMON,
            ),
            required=("checkpoint", "framework"),
            example=_WATCH_EXAMPLE,
        ),
        Command(
            "publish",
            summary="publish one save by hand",
            details=_PUBLISH,
            flags=(_CHECKPOINT, _SYNC, _ATTEMPT, _EPOCH, *_STORE, *_COMMON),
            operands=("SAVE", "STEP"),
            example=_PUBLISH_EXAMPLE,
        ),
        Command(
            "prune",
            summary="remove old publications and the saves only they named",
            details=_PRUNE,
            flags=(
                _CHECKPOINT,
                Flag("keep", "N", "How many of the latest publications stay, at least 1."),
                Flag("keep-every", "K", "Also keep the best save of each step that K divides."),
                Flag("dry-run", "", "Say what would be removed, and remove nothing."),
                Flag("v", "", "Print each removed entry and folder to stdout."),
                _EPOCH,
                *_STORE,
                *_COMMON,
            ),
            required=("checkpoint", "keep"),
            example=_PRUNE_EXAMPLE,
        ),
        Command(
            "log",
            summary="list the publications, newest first",
            details=_LOG,
            flags=(_CHECKPOINT, *_STORE, *_COMMON),
            example=_LOG_EXAMPLE,
        ),
        Command(
            "retract",
            summary="take back one publication that was made by mistake",
            details=_RETRACT,
            flags=(_CHECKPOINT, Flag("yes", "", "Do not ask."), *_STORE, *_COMMON),
            operands=("ENTRY",),
            example=_RETRACT_EXAMPLE,
        ),
        Command(
            "probe",
            summary="say whether a root can be trusted, from this node",
            details=_PROBE,
            flags=(
                _CHECKPOINT,
                Flag("peer", "WORD", "Meet the probe on another node that has the same word."),
                Flag("timeout", "DURATION", "For an answer, or for the peer.", "2m"),
                *_STORE,
                *_COMMON,
            ),
            example=_PROBE_EXAMPLE,
        ),
    )
}
