/*
 * keyword -- names of keyword arguments, made once in a context.
 *
 * The strings belong to an arena of the context and are not counted, so that
 * callers need not release them.
 */
#include <stddef.h>

#include <cfx/value.h>

#include "base/context_impl.h"
#include "base/mutex.h"
#include "base/util.h"

typedef struct keywords {
    cfx_mutex lock;
    cfx_map names; /* to their cfx_string */
    cfx_arena arena;
} keywords;

static void *keywords_make(cfx_context *ctx)
{
    keywords *k = cfx_calloc(ctx, 1, sizeof(*k));
    if (k && !cfx_mutex_init(&k->lock)) {
        cfx_free(ctx, k, sizeof(*k));
        return NULL;
    }
    if (k) {
        cfx_map_init(&k->names, ctx);
        cfx_arena_init(&k->arena, ctx);
    }
    return k;
}

static void keywords_free(cfx_context *ctx, void *p)
{
    keywords *k = p;
    cfx_map_release(&k->names);
    cfx_arena_release(&k->arena);
    cfx_mutex_destroy(&k->lock);
    cfx_free(ctx, k, sizeof(*k));
}

/* The string of a name, which is made if it is new; NULL when out of memory. */
static cfx_string *intern(keywords *k, const char *name, size_t len)
{
    cfx_map_entry *e = cfx_map_get(&k->names, name, len);
    if (e)
        return e->v.p;
    cfx_string *s = len < UINT32_MAX
                        ? cfx_arena_alloc(&k->arena, sizeof(*s) + len + 1)
                        : NULL;
    if (!s)
        return NULL;
    *s = (cfx_string){.len = (uint32_t)len, .ctx = k->names.ctx};
    memcpy(s->text, name, len + 1);
    if (!(e = cfx_map_put(&k->names, s->text, len, NULL)))
        return NULL;
    e->v.p = s;
    return s;
}

cfx_value cfx_keyword(cfx_context *ctx, const char *name)
{
    static const cfx_slot slot = {keywords_make, keywords_free};
    keywords *k = cfx_context_slot(ctx, &slot);
    if (!k)
        return CFX_NOTHING;
    cfx_mutex_lock(&k->lock);
    cfx_string *s = intern(k, name, strlen(name));
    cfx_mutex_unlock(&k->lock);
    return s ? (cfx_value){.kind = CFX_STR, .u.str = s} : CFX_NOTHING;
}
