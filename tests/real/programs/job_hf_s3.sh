CKPT=s3://team/finetune
OUT=exec/$DISPATCH_ATTEMPT
LOCAL=${TMPDIR:-/tmp}/saves.$DISPATCH_ATTEMPT    # on the node: Trainer sees nothing else
trap : TERM    # some schedulers signal this shell too; it must outlive the trainer

# What rclone is to call `store:` is where `publish` goes, too, and with the same keys.
export RCLONE_CONFIG_STORE_TYPE=s3 RCLONE_CONFIG_STORE_PROVIDER=Other
export RCLONE_CONFIG_STORE_ENDPOINT=$AWS_ENDPOINT_URL_S3 RCLONE_CONFIG_STORE_ENV_AUTH=true
export RCLONE_S3_NO_CHECK_BUCKET=true
STORE=store:${CKPT#s3://}

copy_save() {    # FROM TO: the marker last, so that half a copy never looks complete
    rclone copy --exclude /trainer_state.json "$1" "$2" &&
        rclone copyto "$1/trainer_state.json" "$2/trainer_state.json"
}

upload() {    # each save that is complete: copy it, publish it, and keep no older one here
    local save name old status=0
    for save in "$LOCAL"/checkpoint-*[0-9]; do
        name=${save##*/}
        [ -e "$save.published" ] && continue
        python -m json.tool "$save/trainer_state.json" >/dev/null 2>&1 || continue    # not yet
        [ -e "$save/checkpoint-is-incomplete.txt" ] && continue
        copy_save "$save" "$STORE/$OUT/$name" &&
            publish publish -checkpoint "$CKPT" "$CKPT/$OUT/$name" "${name#checkpoint-}" &&
            touch "$save.published" || { status=1; continue; }
        for old in "$LOCAL"/checkpoint-*.published; do
            [ "$old" = "$save.published" ] || rm -rf "${old%.published}"
        done
    done
    return $status
}

RESUME=$(publish resolve -checkpoint "$CKPT") || exit 1
mkdir -p "$LOCAL" || exit 1
if [ -n "$RESUME" ]; then
    copy_save "store:${RESUME#s3://}" "$LOCAL/resume" || exit 1
    [ -s "$LOCAL/resume/trainer_state.json" ] || exit 1    # a prune has taken it meanwhile
fi
{ trap '' TERM; until [ -e "$LOCAL/ended" ]; do upload; sleep 10; done; upload; } &
UPLOAD=$!
python train.py --output_dir "$LOCAL" ${RESUME:+--resume_from_checkpoint "$LOCAL/resume"}
STATUS=$?
touch "$LOCAL/ended"; wait "$UPLOAD" || STATUS=1
publish prune -checkpoint "$CKPT" -keep 3
exit $STATUS
