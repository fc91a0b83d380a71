CKPT=/lustre/team/finetune
publish run -checkpoint "$CKPT" -framework dcp -keep 3 \
    -saves "$CKPT/exec/$DISPATCH_ATTEMPT/checkpoint" -- \
    python train_titan.py --output_dir {out} --resume_from_checkpoint {resume}
