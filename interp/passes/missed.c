/*
 * missed -- the nodes that passes left as they were, and why.
 *
 * A node is known by its name and what it calls, since later passes may erase it, or
 * make another one of that name.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "interp/passes/pass_impl.h"

/* A copy of a text; NULL for lack of memory. */
static char *copy_text(cfx_missed_list *l, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = cfx_alloc(l->ctx, size);
    if (copy)
        memcpy(copy, text, size);
    else
        l->failed = true;
    return copy;
}

static void free_text(cfx_context *ctx, const char *text)
{
    if (text)
        cfx_free(ctx, (char *)(uintptr_t)text, strlen(text) + 1);
}

static void release_node(cfx_context *ctx, cfx_missed_node *m)
{
    free_text(ctx, m->is.node);
    free_text(ctx, m->is.why);
    free_text(ctx, m->target);
}

static void append(cfx_missed_list *l, const cfx_node *n, const char *why)
{
    l->failed |= cfx_grow(l->ctx, l->item, l->cap, l->n + 1, NULL) != CFX_OK;
    if (l->failed)
        return;
    cfx_missed_node *m = &l->item[l->n++];
    *m = (cfx_missed_node){
        .is = {copy_text(l, n->name), l->pass, copy_text(l, why)},
        .target = copy_text(l, n->target->text)};
    cfx_map_entry *e = l->failed ? NULL
                                 : cfx_map_put(&l->last, m->is.node,
                                               strlen(m->is.node), NULL);
    l->failed = !e;
    if (e)
        e->v.u = l->n;
}

/* Has this application of the pass given a reason for n? */
static bool is_known(const cfx_missed_list *l, const cfx_node *n)
{
    const cfx_map_entry *e = cfx_map_get(&l->last, n->name, strlen(n->name));
    return e && e->v.u > l->first;
}

void cfx_pass_missed(cfx_pass_call *p, const cfx_node *n, const char *format,
                     ...)
{
    char why[512];
    cfx_missed_list *l = p->missed;
    if (!l || l->failed || is_known(l, n))
        return;
    va_list ap;
    va_start(ap, format);
    vsnprintf(why, sizeof(why), format, ap);
    va_end(ap);
    append(l, n, why);
}

void cfx_missed__begin(cfx_missed_list *l, const char *pass)
{
    if (!l)
        return;
    l->pass = pass;
    l->first = l->n;
}

cfx_status cfx_missed__end(cfx_missed_list *l, cfx_error *err)
{
    return l && l->failed ? cfx_no_memory(err) : CFX_OK;
}

static bool is_there(const cfx_graph *g, const cfx_missed_node *m)
{
    const cfx_node *n = cfx_graph_find(g, m->is.node);
    return n && !strcmp(n->target->text, m->target);
}

cfx_status cfx_missed__tell(const cfx_missed_list *l, const cfx_graph *g,
                            cfx_missed_hook *hook, void *user, cfx_error *err)
{
    size_t n = 0, size = (l->n + 1) * sizeof(cfx_missed);
    cfx_missed *left = cfx_alloc(l->ctx, size);
    if (!left)
        return cfx_no_memory(err);
    for (size_t i = 0; i < l->n; i++)
        if (is_there(g, &l->item[i]))
            left[n++] = l->item[i].is;
    hook(user, left, n);
    cfx_free(l->ctx, left, size);
    return CFX_OK;
}

void cfx_missed__init(cfx_missed_list *l, cfx_context *ctx)
{
    *l = (cfx_missed_list){.ctx = ctx};
    cfx_map_init(&l->last, ctx);
}

void cfx_missed__release(cfx_missed_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        release_node(l->ctx, &l->item[i]);
    cfx_free(l->ctx, l->item, l->cap * sizeof(*l->item));
    cfx_map_release(&l->last);
}
