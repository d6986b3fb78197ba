/*
 * names.h -- unique Python identifiers, as torch.fx gives them. Not installed.
 *
 * A namespace never returns a name twice, even after its owner is gone. Graphs
 * and the code printer have one each.
 */
#ifndef CFX_NAMES_H
#define CFX_NAMES_H

#include <cfx/graph.h>

#include "base/util.h"

/* Cache sizes for targets and bases, as powers of two, and the longest cached
 * target. */
enum { CFX_NAMES_TARGETS = 6, CFX_NAMES_RECENT = 4, CFX_NAMES_TARGET = 46 };

typedef struct cfx_names {
    cfx_arena memory;
    char *at, *end; /* free space for texts */
    cfx_map used;   /* the names outside the arrays of bases */
    cfx_map bases;  /* base -> cfx_names_base, for numbered names */
    struct cfx_names_base *recent[1 << CFX_NAMES_RECENT]; /* a cache */
    cfx_map skips; /* a used name -> a number to continue at */
    cfx_buf buf, candidate;
    struct cfx_names_target *target;
    const char *last; /* the name given last, its base, and the number that
                             the base had before */
    struct cfx_names_base *last_base;
    uint64_t last_count;
} cfx_names;

void cfx_names_init(cfx_names *names, cfx_context *ctx);
void cfx_names_release(cfx_names *names);
/* Reserve space for as many names as `other` has. False when out of memory;
 * then nothing has changed. */
bool cfx_names_reserve(cfx_names *names, const cfx_names *other);

/*
 * Create a unique name from a candidate. Reserved words are allowed only if
 * `any` is set. The namespace owns the name. NULL when out of memory; then
 * nothing has changed.
 */
const char *cfx_names_create(cfx_names *names, const char *candidate,
                             size_t len, bool any);

/* Like cfx_names_create, for a name from another namespace. */
const char *cfx_names_again(cfx_names *names, const char *name);

/* The name of a node without a candidate, derived from its target. */
const char *cfx_names_of_target(cfx_names *names, cfx_opcode op,
                                const char *target, size_t len);

/*
 * Replace a name by one for the candidate. The old name becomes free if it was
 * the last one created; else it stays used.
 */
const char *cfx_names_replace(cfx_names *names, const char *old,
                              const char *candidate, size_t len);

/* The name with this text, or NULL. */
const char *cfx_names_find(const cfx_names *names, const char *name);

/* The user pointer of a name; initially NULL. */
CFX_INLINE void **cfx_names_user(const char *name)
{
    return (void **)(uintptr_t)(name - sizeof(void *));
}

/* The candidate for a node without a name of its own, into buf (cleared). */
void cfx_names_candidate(cfx_buf *buf, cfx_opcode op, const char *target);

/* May the character stand in an identifier of Python's? */
CFX_INLINE bool cfx_name_has(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}
/* Is it an identifier? Of characters beyond ASCII this is not checked. */
bool cfx_name_is_identifier(const char *s, size_t len);
/* Is it one or more identifiers with dots between them? */
bool cfx_name_is_path(const char *s);
/* May it name a placeholder: as a parameter in Python, or as a value in ONNX,
 * `x.1` and `x:0`, whose other characters code replaces? */
bool cfx_name_is_parameter(const char *s, size_t len);

/* Is it a keyword, a builtin, or a global of generated code? */
bool cfx_name_is_illegal(const char *name);

#endif
