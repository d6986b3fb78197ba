/*
 * graph_operators -- count the calls of a model by what they call.
 */
#include "graph/graph_operators.h"

#include <stdlib.h>

#include "base/util.h"
#include "nn/module_impl.h"
#include "op/op_impl.h"

/* Hints in all; the length at which a message names no further operator. */
enum { MAX_HINTS = 64, MAX_TEXT = 1000 };

struct cfx_operators_memory {
    cfx_context *ctx;
    cfx_arena arena;
    cfx_map places; /* opcode and name -> index of the item */
    size_t cap;
};

/* ---- Counting ---- */

cfx_status cfx_operators__begin(cfx_operators *ops, cfx_context *ctx,
                                cfx_error *err)
{
    *ops = (cfx_operators){.memory = cfx_alloc(ctx, sizeof(*ops->memory))};
    if (!ops->memory)
        return cfx_no_memory(err);
    *ops->memory = (struct cfx_operators_memory){.ctx = ctx};
    cfx_arena_init(&ops->memory->arena, ctx);
    cfx_map_init(&ops->memory->places, ctx);
    return CFX_OK;
}

static cfx_status add_item(cfx_operators *ops, const cfx_operator_count *call,
                           const char *name, cfx_error *err)
{
    struct cfx_operators_memory *m = ops->memory;
    const char *first = cfx_arena_strdup(&m->arena, call->first,
                                         strlen(call->first));
    cfx_status st = first
                        ? cfx_grow(m->ctx, ops->item, m->cap, ops->n + 1, err)
                        : cfx_no_memory(err);

    if (st)
        return st;
    ops->item[ops->n++] = (cfx_operator_count){
        .name = name, .op = call->op, .known = call->known, .first = first};
    ops->nunknown += !call->known;
    return CFX_OK;
}

/* A key is a letter for the opcode, and the name. */
cfx_status cfx_operators__count(cfx_operators *ops,
                                const cfx_operator_count *call, cfx_error *err)
{
    struct cfx_operators_memory *m = ops->memory;
    size_t len = strlen(call->name);
    char *key = cfx_arena_alloc(&m->arena, len + 2);
    bool added = false;

    if (!key)
        return cfx_no_memory(err);
    key[0] = (char)('a' + call->op);
    memcpy(key + 1, call->name, len + 1);
    cfx_map_entry *e = cfx_map_put(&m->places, key, len + 1, &added);
    if (!e)
        return cfx_no_memory(err);
    if (added) {
        e->v.u = ops->n;
        cfx_status st = add_item(ops, call, key + 1, err);
        if (st)
            return st;
    }
    ops->item[e->v.u].count++;
    ops->ncalls++;
    ops->nunknown_calls += !ops->item[e->v.u].known;
    return CFX_OK;
}

static int by_count(const void *a, const void *b)
{
    const cfx_operator_count *x = a, *y = b;
    int names = strcmp(x->name, y->name);

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return names ? names : (x->op > y->op) - (x->op < y->op);
}

cfx_status cfx_operators__end(cfx_operators *ops, cfx_operators_try *try_names,
                              void *user, cfx_error *err)
{
    struct cfx_operators_memory *m = ops->memory;
    cfx_nearest near;
    int left = MAX_HINTS;

    if (ops->n)
        qsort(ops->item, ops->n, sizeof(*ops->item), by_count);
    for (size_t i = 0; i < ops->n && left > 0; i++) {
        cfx_operator_count *item = &ops->item[i];
        if (item->known || item->op == CFX_CALL_MODULE)
            continue;
        left--;
        cfx_nearest_init(&near, item->name, strlen(item->name));
        try_names(user, &near, item);
        if (!near.best[0])
            continue;
        item->nearest = cfx_arena_strdup(&m->arena, near.best,
                                         strlen(near.best));
        if (!item->nearest)
            return cfx_no_memory(err);
    }
    return CFX_OK;
}

void cfx_operators_release(cfx_operators *ops)
{
    struct cfx_operators_memory *m = ops->memory;

    if (!m)
        return;
    cfx_free(m->ctx, ops->item, m->cap * sizeof(*ops->item));
    cfx_map_release(&m->places);
    cfx_arena_release(&m->arena);
    cfx_free(m->ctx, m, sizeof(*m));
    *ops = (cfx_operators){0};
}

/* ---- Graphs ---- */

/* A module counts by its class. */
static cfx_operator_count call_of(const cfx_module *m, const cfx_node *n)
{
    cfx_context *ctx = cfx_module_context(m);
    const char *target = n->target->text;
    cfx_operator_count call = {
        .name = target, .op = (cfx_opcode)n->op, .first = n->name};

    if (n->op == CFX_CALL_MODULE) {
        const cfx_module *called = cfx_module_at(m, target);
        call.name = called ? cfx_module_class_name(called) : target;
        call.known = called && (called->graph || called->type->forward);
    } else {
        call.known = n->op == CFX_CALL_METHOD ? cfx_find_method(ctx, target)
                                              : cfx_find_function(ctx, target);
    }
    return call;
}

/* Is an argument a type of PyTorch's quantized tensors, torch.quint8? */
static bool has_quantized_type(const cfx_node *n)
{
    for (uint32_t i = 0; i < n->nargs; i++)
        if (n->args[i].kind == CFX_NAME &&
            !strncmp(n->args[i].u.str->text, "torch.q", 7))
            return true;
    return false;
}

static cfx_status count_calls(cfx_operators *ops, const cfx_module *m,
                              cfx_error *err)
{
    const cfx_graph *g = cfx_graph_module_graph(m);
    cfx_status st = CFX_OK;
    size_t i = 0;

    for (const cfx_node *n = g ? cfx_graph_first(g) : NULL; n && !st;
         n = cfx_node_next(n)) {
        if (cfx_node_is_call(n)) {
            const cfx_operator_count call = call_of(m, n);
            if (!call.known && has_quantized_type(n))
                ops->quantized = true;
            st = cfx_operators__count(ops, &call, err);
        }
        if (!st && ++i % 4096 == 0)
            st = cfx_context_check(ops->memory->ctx, err);
    }
    return st;
}

static void try_registered(void *user, cfx_nearest *near,
                           const cfx_operator_count *unknown)
{
    cfx_target__nearest(near, user, unknown->op == CFX_CALL_METHOD);
}

cfx_status cfx_operators_init(cfx_operators *ops, const cfx_module *gm,
                              cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    cfx_status st = cfx_operators__begin(ops, ctx, err);

    for (const cfx_module *m = gm; m && !st; m = cfx_module_next(m, gm))
        st = count_calls(ops, m, err);
    return st ? st : cfx_operators__end(ops, try_registered, ctx, err);
}

/* ---- The message ---- */

static void describe_unknown(cfx_buf *to, const cfx_operator_count *item)
{
    if (item->count == 1)
        cfx_buf_printf(to, "'%.100s' (in %.60s", item->name, item->first);
    else
        cfx_buf_printf(to, "'%.100s' (%zu calls, the first in %.60s",
                       item->name, item->count, item->first);
    if (item->nearest)
        cfx_buf_printf(to, "; did you mean '%s'?", item->nearest);
    cfx_buf_putc(to, ')');
}

cfx_status cfx_operators__fail(const cfx_operators *ops, cfx_error *err)
{
    size_t told = 0;
    cfx_buf list;

    cfx_buf_init(&list, ops->memory->ctx);
    for (size_t i = 0; i < ops->n && list.len < MAX_TEXT; i++) {
        if (ops->item[i].known)
            continue;
        if (told++)
            cfx_buf_puts(&list, ", ");
        describe_unknown(&list, &ops->item[i]);
    }
    if (told < ops->nunknown)
        cfx_buf_printf(&list, " and %zu more", ops->nunknown - told);
    if (ops->quantized)
        cfx_buf_puts(
            &list,
            "; quantized tensors can only be dequantized: convert with torch.ao's convert_to_reference_fx");
    cfx_status st = list.failed
                        ? cfx_no_memory(err)
                        : cfx_fail(err, CFX_EOPERATOR,
                                   "%zu operator%s unknown: %s", ops->nunknown,
                                   ops->nunknown > 1 ? "s are" : " is",
                                   list.s);
    cfx_buf_release(&list);
    return st;
}
