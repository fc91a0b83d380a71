CKPT=s3://team/finetune
publish run -checkpoint "$CKPT" -framework dcp -keep 3 -- \
    python train_dcp.py --output_dir {out} --resume_from_checkpoint {resume}
