CKPT=/lustre/team/finetune
RESUME=$(publish resolve -checkpoint "$CKPT") || exit 1
OUT=$CKPT/exec/$DISPATCH_ATTEMPT
publish watch -checkpoint "$CKPT" -framework hf &
WATCH=$!
python train.py --output_dir "$OUT" ${RESUME:+--resume_from_checkpoint "$RESUME"}
STATUS=$?
kill -TERM "$WATCH"; wait "$WATCH"
publish prune -checkpoint "$CKPT" -keep 3
exit $STATUS
