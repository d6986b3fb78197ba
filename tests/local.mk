# Test programs; each prints "N passed, N failed" or Check's closing line.
EXTRA_DIST += %reldir%/README.md
