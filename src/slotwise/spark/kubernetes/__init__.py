"""What Slotwise needs on Kubernetes: the pods of executors, the image, and what is submitted.

`entrypoint.sh` is what the image's containers run, `executor-pod.yaml` what every executor's pod
has.
"""
