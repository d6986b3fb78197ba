#!/bin/sh
# Models by chance, before and after cfx_optimize.
exec ${CFX_EMULATOR:-} "$builddir/tests/case_tests" random_models \
    -n "${CFX_RANDOM_MODELS:-300}"
