"""assay's stand-in for the package `kernels`, as far as benchmark scripts use it. It is on the path of
a benchmark's process only where the real package is not installed."""
