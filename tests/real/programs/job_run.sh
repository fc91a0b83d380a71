CKPT=/lustre/team/finetune
publish run -checkpoint "$CKPT" -framework hf -keep 3 -- \
    python train.py --output_dir {out} --resume_from_checkpoint {resume}
