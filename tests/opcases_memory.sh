#!/bin/sh
# Every operator and module case while memory runs out.
exec "$builddir/tests/opcases_memory_test" "$srcdir"/tests/golden/*.golden
