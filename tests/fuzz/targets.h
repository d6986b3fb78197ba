/*
 * targets.h -- the readers of what may come from strangers, as fuzz targets.
 *
 * A target reads bytes that may be anything, under limits of memory and time,
 * and looks at what it got: a reader that accepts a text prints it, reads that
 * again and prints the same. It aborts where that does not hold.
 */
#ifndef CFX_TESTS_FUZZ_TARGETS_H
#define CFX_TESTS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_target {
    const char *name; /* its seeds are in tests/fuzz/seeds/NAME */
    void (*read)(const uint8_t *data, size_t size);
} fuzz_target;

extern const fuzz_target fuzz_targets[]; /* ends with a zeroed one */

/* NULL: there is no such target. */
const fuzz_target *fuzz_target_find(const char *name);

#endif
