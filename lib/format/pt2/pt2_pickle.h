/*
 * pt2_pickle.h -- the values that torch.save pickles. Not installed.
 */
#ifndef CFX_PT2_PICKLE_H
#define CFX_PT2_PICKLE_H

#include "format/io.h"

typedef enum cfx_pickled_kind {
    CFX_PICKLED_NONE,
    CFX_PICKLED_BOOL,
    CFX_PICKLED_INT,
    CFX_PICKLED_FLOAT,
    CFX_PICKLED_STR,
    CFX_PICKLED_TUPLE,
    CFX_PICKLED_LIST,
    CFX_PICKLED_DICT,
    CFX_PICKLED_GLOBAL, /* the name of a function or class */
    CFX_PICKLED_STORAGE,
    CFX_PICKLED_TENSOR
} cfx_pickled_kind;

/* A value, in the arena of its pickle. Lists may hold themselves: follow them
 * to a bounded depth. */
typedef struct cfx_pickled {
    cfx_pickled_kind kind;
    int64_t i; /* of a bool, an int */
    double f;
    const char *text; /* of a str, a global ("torch FloatStorage"), a storage's
                         key; ends in NUL */
    size_t len;       /* of `text` */
    struct cfx_pickled **item; /* of a dict: keys and values in turn */
    size_t n, cap;
    cfx_dtype dtype; /* of a storage */
    /* The parts of a tensor. */
    struct cfx_pickled *storage, *size, *stride;
} cfx_pickled;

/*
 * Read a pickle as torch.save writes it: None, numbers, strings, tuples, lists,
 * dicts, OrderedDict, tensors and parameters. Nothing is executed: any other
 * global is refused by its name, when it is called. Values live as long as the
 * arena, and take at most `most` bytes. Fails with CFX_EPARSE,
 * CFX_EUNSUPPORTED, CFX_ELIMIT, CFX_ENOMEM.
 */
cfx_status cfx_pickle_read(cfx_pickled **out, cfx_arena *arena,
                           const unsigned char *data, size_t len, size_t most,
                           cfx_error *err);

#endif
