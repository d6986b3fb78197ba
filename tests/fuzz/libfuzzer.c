/*
 * libfuzzer -- the targets under clang's libFuzzer: `fuzz --target=NAME`, then
 * what libFuzzer takes. See fuzz.sh.
 */
#include "tests/fuzz/targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const fuzz_target *chosen;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room,
                               unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    for (int i = 1; i < *argc; i++) {
        if (!strncmp((*argv)[i], "--target=", 9))
            chosen = fuzz_target_find((*argv)[i] + 9);
    }
    if (!chosen) {
        fprintf(stderr, "usage: fuzz --target=NAME [OPTION]... [FOLDER]...\n");
        exit(2);
    }
    return 0;
}

/* Most changes keep to the target's grammar, if it has one. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room,
                               unsigned seed)
{
    uint64_t state = 2 * (uint64_t)seed + 1;

    return chosen->change && seed % 8
               ? chosen->change(data, size, room, &state)
               : LLVMFuzzerMutate(data, size, room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    chosen->read(data, size);
    return 0;
}
