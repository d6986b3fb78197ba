#!/bin/sh
# Every operator and module case against PyTorch's results.
exec "$builddir/tests/opcases_test" "$srcdir"/tests/golden/*.golden
