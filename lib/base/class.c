/*
 * class -- tables of hooks with a `super`.
 *
 * Tables of all types are read byte by byte, since they have only their
 * beginning in common.
 */
#include "base/class.h"

#include <string.h>

/* The first members of every class. */
struct head {
    size_t size;
    const char *name;
    const void *super;
};

typedef void (*any_hook)(void);

static any_hook hook_at(const void *cls, size_t size, size_t offset)
{
    any_hook hook = NULL;
    if (offset + sizeof(hook) <= size)
        memcpy(&hook, (const char *)cls + offset, sizeof(hook));
    return hook;
}

const void *cfx_class__with(const void *cls, size_t offset)
{
    struct head h;
    for (;; cls = h.super) {
        memcpy(&h, cls, sizeof(h));
        if (!h.super || hook_at(cls, h.size, offset))
            return cls;
    }
}

void cfx_class__flatten(void *out, size_t first, size_t size, const void *cls)
{
    for (size_t at = first; at + sizeof(any_hook) <= size;
         at += sizeof(any_hook)) {
        const void *from = cfx_class__with(cls, at);
        struct head h;
        memcpy(&h, from, sizeof(h));
        any_hook hook = hook_at(from, h.size, at);
        if (hook)
            memcpy((char *)out + at, &hook, sizeof(hook));
    }
}
