CKPT=/lustre/team/finetune
RESUME=$(publish resolve -checkpoint "$CKPT" -verify -framework hf -fallback) || exit 1
OUT=$CKPT/exec/$DISPATCH_ATTEMPT
publish watch -checkpoint "$CKPT" -framework hf -interval 100ms $DISPATCH_TEST_WATCH &
WATCH=$!
python -m torch.distributed.run --standalone --nproc-per-node 2 train_ranks.py \
    --output_dir "$OUT" ${RESUME:+--resume_from_checkpoint "$RESUME"}
STATUS=$?
kill -TERM "$WATCH"; wait "$WATCH"
publish prune -checkpoint "$CKPT" -keep 100
exit $STATUS
