CKPT=s3://team/finetune
RESUME=$(publish resolve -checkpoint "$CKPT") || exit 1
OUT=$CKPT/exec/$DISPATCH_ATTEMPT
publish watch -checkpoint "$CKPT" -framework dcp &
WATCH=$!
python train_dcp.py --output_dir "$OUT" ${RESUME:+--resume_from_checkpoint "$RESUME"}
STATUS=$?
kill -TERM "$WATCH"; wait "$WATCH" || STATUS=1
publish prune -checkpoint "$CKPT" -keep 3
exit $STATUS
