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

/* Targets and bases that are remembered, as powers of two, and how long a
 * target may be. */
enum { CFX_NAMES_TARGETS = 6, CFX_NAMES_RECENT = 4, CFX_NAMES_TARGET = 46 };

typedef struct cfx_names {
    cfx_arena memory;
    char *at, *end;       /* where the next text goes */
    cfx_map used;         /* the names, but for most of those with a number */
    cfx_map bases;        /* base -> cfx_names_base, once it has a number */
    struct cfx_names_base *recent[1 << CFX_NAMES_RECENT]; /* some, or NULL */
    cfx_map skips;        /* a used name -> a number to go on searching at */
    cfx_buf buf, candidate;
    struct cfx_names_target *target;
    const char *last;     /* the name given last, its base, and the number that
                             the base had before */
    struct cfx_names_base *last_base;
    uint64_t last_count;
} cfx_names;

void cfx_names_init(cfx_names *names, cfx_context *ctx);
void cfx_names_release(cfx_names *names);
/* Room for as many as another has. False on lack of memory; then nothing has
 * changed. */
bool cfx_names_reserve(cfx_names *names, const cfx_names *other);

/*
 * Make a unique name of a candidate. Names that Python or generated code give
 * a meaning are taken only if `any` is true. The name lives as long as the
 * namespace. NULL on lack of memory; then nothing has changed.
 */
const char *cfx_names_create(cfx_names *names, const char *candidate,
                             size_t len, bool any);

/* The same for a name that another namespace has given. */
const char *cfx_names_again(cfx_names *names, const char *name);

/* The name of a node that brings none, made from its target. */
const char *cfx_names_of_target(cfx_names *names, cfx_opcode op,
                                const char *target, size_t len);

/*
 * Make a name for a candidate in place of one that was given: if that was the
 * last, as if it had never been given; else it stays used, without an owner.
 */
const char *cfx_names_replace(cfx_names *names, const char *old,
                              const char *candidate, size_t len);

/* The name of that text which was given, or NULL. */
const char *cfx_names_find(const cfx_names *names, const char *name);

/* What the user of a namespace stores with a name: NULL at first. */
CFX_INLINE void **cfx_names_user(const char *name)
{
    return (void **)(uintptr_t)(name - sizeof(void *));
}

/* The candidate for a node without a name of its own, into buf (cleared). */
void cfx_names_candidate(cfx_buf *buf, cfx_opcode op, const char *target);

/* Is it a keyword, a builtin, or a global of generated code? */
bool cfx_name_is_illegal(const char *name);

#endif
