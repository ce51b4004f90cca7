"""The pure core: tensors in, tensors out; no files, no processes, no screen."""
