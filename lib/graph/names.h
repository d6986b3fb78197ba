/*
 * names.h -- unique Python identifiers, as torch.fx gives them. Not installed.
 *
 * A namespace never gives a name twice, also not after its owner is gone. Used
 * for the nodes of a graph, and once more when code is written.
 */
#ifndef CFX_NAMES_H
#define CFX_NAMES_H

#include <cfx/graph.h>

#include "base/util.h"

typedef struct cfx_names {
    cfx_arena text;
    cfx_map used;    /* name -> what its user stores in v.p */
    cfx_map bases;   /* base -> the number last given to it */
    cfx_map skips;   /* a used name -> a number to go on searching at */
    cfx_buf buf;
    const char *last;     /* the name given last, its base's length, and the
                             number that the base had before */
    size_t last_base;
    uint64_t last_count;
} cfx_names;

void cfx_names_init(cfx_names *names, cfx_context *ctx);
void cfx_names_release(cfx_names *names);

/*
 * Make a unique name of a candidate. Names that Python or generated code give
 * a meaning are taken only if `any` is true. The entry's key is the name,
 * which lives as long as the namespace; its value is the caller's; the entry
 * is valid until the next change. NULL on lack of memory; then nothing has
 * changed.
 */
cfx_map_entry *cfx_names_create(cfx_names *names, const char *candidate,
                                size_t len, bool any);

/*
 * Make a name for a candidate in place of one that was given: if that was the
 * last, as if it had never been given; else it stays used, without an owner.
 */
cfx_map_entry *cfx_names_replace(cfx_names *names, const char *old,
                                 const char *candidate, size_t len);

/* The candidate for a node without a name of its own, into buf (cleared). */
void cfx_names_candidate(cfx_buf *buf, cfx_opcode op, const char *target);

/* Is it a keyword, a builtin, or a global of generated code? */
bool cfx_name_is_illegal(const char *name);

#endif
