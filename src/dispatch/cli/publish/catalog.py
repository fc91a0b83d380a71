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
_INTERVAL = Flag("interval", "DURATION", "From one scan to the next.", "10s")
_SAVES = Flag("saves", "DIR", "The folder of the saves, when it is another one.")
_KEEP_EVERY = Flag("keep-every", "K", "Also keep the best save of each step that K divides.")
_RANKS = Flag("ranks", "N", "How many processes save, at least 1; else each save shows it.")
_SETTLE = Flag("settle", "DURATION", "How long a save has to look the same; else it shows.")
_CHOOSING = (
    Flag("epoch-below", "NUMBER", "Only publications of a smaller epoch."),
    Flag("step-at-most", "NUMBER", "Only publications of this step or a lower one."),
)
_SYNC = Flag("sync", "", "Sync each save's files and folders before it is published.")
_JSON = Flag("json", "", "One JSON document as the answer; objects on stderr, one a line.")
_DEBUG = Flag("debug", "", "Show the traceback of an unexpected fault.")
_COMMON = (_JSON, _DEBUG)


_RESOLVE = """\
Prints the absolute path of the latest published save: the greatest (epoch, step).
Prints nothing, with status 0, when nothing is published. A pure read: it needs no
write permission, and does not look at the save itself, unless -verify is given:
then a save that is gone or incomplete is named, with status 3, or passed over for
the next older one with -fallback. -epoch-below and -step-at-most choose an older
save on purpose. Where none is left to choose, the status is 3, too."""
_RESOLVE_EXAMPLE = """\
$ RESUME=$(publish resolve -checkpoint /lustre/team/finetune) || exit 1
$ echo "$RESUME"
/lustre/team/finetune/exec/1.4101.0.9f3a/checkpoint-500"""

_WATCH = """\
Looks into ROOT/exec/$DISPATCH_ATTEMPT every interval and publishes what is
complete; one line on stderr for each. A save that others may still be writing to
is published once it has looked the same for a while (-settle). On SIGTERM or
SIGINT it looks once more, waits for what hasn't settled, names each save that it
passed over with the reason, and ends with status 0. The first error ends it with
status 1: a job script should treat a watch that ended early as a failure. A
scheduler that signals every process of a job (Slurm does) ends it before a
trainer's last save is finished."""
_WATCH_EXAMPLE = """\
$ publish watch -checkpoint /lustre/team/finetune -framework hf &
publish: published step 500: /lustre/team/finetune/exec/1.4101.0.9f3a/checkpoint-500"""

_RUN = """\
Claims the epoch, publishes complete saves that older executions left unpublished,
runs COMMAND, publishes its saves while it runs and until it has really ended, prunes,
and ends with its status: its own, or 128 and the signal that killed it. Every rank
resumes from the same save, and an older one that flags choose is published again, so
that a crash does not undo the choice. When a newer execution has claimed the root,
COMMAND gets SIGTERM once, and the status is 76.
In COMMAND, {out} is this execution's folder (made if it is missing), {attempt} its
attempt, and {resume} the save to resume from. An argument {resume} or
--flag={resume} goes when there is none, and so does the --flag of --flag {resume}.
{{out}} stands for {out} itself, and so on; other braces mean nothing. COMMAND also
finds DISPATCH_RESUME (not set when there is none) and DISPATCH_OUT.
Signals are handed on to COMMAND and all in its process group; SIGTERM is not in a
Slurm job, since Slurm sends it to every process itself. Errors of the store never
stop COMMAND: they are said, and tried again."""
_RUN_EXAMPLE = """\
$ publish run -checkpoint /lustre/team/finetune -framework hf -keep 3 -- \\
    python train.py --output_dir {out} --resume_from_checkpoint {resume}
publish: resuming from step 500: /lustre/team/finetune/exec/1.4101.0.9f3a/checkpoint-500"""

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

_CLAIM = """\
Makes DISPATCH_EPOCH this attempt's own, so that no other start of the job has it.
Status 0, also when this attempt has it already; 76 when another attempt has it, or a
greater epoch is claimed: this execution should end. Claim before you resolve: from
then on no prune removes what this execution may be loading, until it has published
a save of its own."""
_CLAIM_EXAMPLE = """\
$ publish claim -checkpoint /lustre/team/finetune || exit
publish: epoch 1000000 belongs to attempt '1.4101.0.9f3a'"""

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
elsewhere. With -claim EPOCH it removes the claim of an epoch instead, and what that
execution resumes from."""
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
            flags=(
                _CHECKPOINT,
                Flag("verify", "", "Check that the save is there and complete."),
                _FRAMEWORK,
                Flag("fallback", "", "With -verify: pass over saves that are not, to older ones."),
                *_CHOOSING,
                *_STORE,
                *_COMMON,
            ),
            example=_RESOLVE_EXAMPLE,
        ),
        Command(
            "watch",
            summary="publish each save of this execution once it is complete",
            details=_WATCH,
            flags=(
                _CHECKPOINT,
                _FRAMEWORK,
                _INTERVAL,
                Flag("timeout", "DURATION", "End when the store is silent this long.", "2m"),
                _SAVES,
                _RANKS,
                _SETTLE,
                Flag("once", "", "Take the last look at once, and end."),
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
            "claim",
            summary="make the epoch this execution's own",
            details=_CLAIM,
            flags=(_CHECKPOINT, _ATTEMPT, _EPOCH, *_STORE, *_COMMON),
            example=_CLAIM_EXAMPLE,
        ),
        Command(
            "run",
            summary="run a command, and publish its saves until it has really ended",
            details=_RUN,
            flags=(
                _CHECKPOINT,
                _FRAMEWORK,
                Flag("keep", "N", "Prune in the end: how many of the latest publications stay."),
                _KEEP_EVERY,
                Flag("grace", "DURATION", "From our SIGTERM or SIGINT to SIGKILL.", "10m"),
                Flag("forward", "WHEN", "Hand signals on: auto, always or never.", "auto"),
                _INTERVAL,
                Flag("timeout", "DURATION", "How long to wait for the store.", "2m"),
                _SAVES,
                _RANKS,
                _SETTLE,
                *_CHOOSING,
                Flag("fallback", "", "Pass over saves that are not complete, to older ones."),
                Flag("no-claim", "", "Do without claims."),
                Flag("no-sync", "", "Do not sync each save before it is published."),
                _ATTEMPT,
                _EPOCH,
                *_STORE,
                *_COMMON,
            ),
            rest="COMMAND",
            required=("checkpoint", "framework"),
            example=_RUN_EXAMPLE,
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
                _KEEP_EVERY,
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
            flags=(
                _CHECKPOINT,
                Flag("claim", "EPOCH", "Take back the claim of this epoch instead."),
                Flag("yes", "", "Do not ask."),
                *_STORE,
                *_COMMON,
            ),
            operands=("ENTRY",),
            instead="claim",
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
