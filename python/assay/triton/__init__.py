"""Kernels in Triton's languages, run without a GPU."""
