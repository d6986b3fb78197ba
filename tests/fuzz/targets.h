/*
 * targets.h -- the readers of what may come from strangers, as fuzz targets.
 *
 * A target reads bytes that may be anything, under limits of memory and time,
 * and looks at what it got: a reader that accepts a text prints it, reads that
 * again and prints the same. It aborts where that does not hold.
 */
#ifndef CFX_TESTS_FUZZ_TARGETS_H
#define CFX_TESTS_FUZZ_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cfx/module.h>

typedef struct fuzz_target {
    const char *name; /* its seeds are in tests/fuzz/seeds/NAME */
    void (*read)(const uint8_t *data, size_t size);
    /* Change a text of the target's language in place, to at most `room` bytes;
     * returns its new size. NULL: bytes are changed only. */
    size_t (*change)(uint8_t *data, size_t size, size_t room, uint64_t *state);
} fuzz_target;

extern const fuzz_target fuzz_targets[]; /* ends with a zeroed one */

/* NULL: there is no such target. */
const fuzz_target *fuzz_target_find(const char *name);

/* The context of one input, with limits of memory and time. Never fails. Give it back
 * when all of the input's values are released. */
cfx_context *fuzz_context(void);
void fuzz_context_done(cfx_context *ctx);

/* Is a model walked in each way that the program has, or in one, which its bytes
 * decide? */
extern bool fuzz_each_step;

/* Walk a model with inputs of the types that it declares; takes gm. `data` decides
 * what is left out. */
void fuzz_walk_take(cfx_context *ctx, cfx_module *gm, const uint8_t *data,
                    size_t size);

/* The target "whole", and changes of the text of its models (whole.c,
 * grammar.c). */
void fuzz_whole(const uint8_t *data, size_t size);
size_t fuzz_change_text(uint8_t *data, size_t size, size_t room,
                        uint64_t *state);

#endif
