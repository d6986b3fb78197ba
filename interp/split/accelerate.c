/*
 * accelerate -- torch's splitter_base: parts that alternate between an
 * accelerator and the host.
 */
#include <cfx/partition.h>
#include <cfx/split.h>

#include <stdio.h>

#include "interp/split/acc_group.h"

typedef struct splitting {
    cfx_context *ctx;
    const cfx_graph *g;
    cfx_accelerate_options o;
    cfx_error *err;
    cfx_arena arena;
    bool *on_acc;        /* by id */
    cfx_acc_units unit;  /* calls that run together */
    uint32_t *waits;     /* by unit: number of inputs that have not run */
    uint32_t *part_of;   /* by id: its part, before drop_small and after */
    cfx_node **queue[2]; /* ready calls: of the host, of the accelerator */
    size_t head[2], tail[2];
    bool *part_is_acc; /* by part */
    uint32_t *part_size, *part_now, nparts;
    const char **tag; /* by part */
    uint32_t ntags;
} splitting;

/* ---- What runs where ---- */

static bool gives_tensor(const cfx_node *n)
{
    cfx_value v = cfx_node__known(n);
    return !v.kind || v.kind == CFX_TENSOR;
}

/* Move a node to the host. Nodes that this affects are queued. */
static void to_host(splitting *s, cfx_node *n, size_t *len)
{
    if (!s->on_acc[n->id])
        return;
    s->on_acc[n->id] = false;
    s->queue[0][(*len)++] = n;
}

static void inputs_to_host(splitting *s, const cfx_node *n, size_t *len)
{
    for (uint32_t k = 0; k < n->ninputs; k++)
        if (!gives_tensor(cfx_node_input(n, k)))
            to_host(s, cfx_node_input(n, k), len);
}

/* Values that are not tensors stay on one side: users of such a value of the
 * host run on the host, and so do nodes that give one to the host or the
 * output. */
static void keep_numbers_together(splitting *s)
{
    size_t len = 0;
    for (cfx_node *n = cfx_graph_first(s->g); n; n = cfx_node_next(n)) {
        if (cfx_node_is_call(n) && !s->on_acc[n->id])
            s->queue[0][len++] = n;
        if (n->op == CFX_OUTPUT)
            inputs_to_host(s, n, &len);
    }
    for (size_t i = 0; i < len; i++) {
        const cfx_node *n = s->queue[0][i];
        for (const cfx_use *u = n->first_user; u && !gives_tensor(n);
             u = u->next)
            to_host(s, u->user, &len);
        inputs_to_host(s, n, &len);
    }
}

static cfx_status place(splitting *s, cfx_support support)
{
    cfx_arena *a = &s->arena;
    size_t ids = cfx_graph_ids(s->g), n = cfx_graph_len(s->g);
    s->on_acc = cfx_extract__scratch(a, ids, sizeof(bool), s->err);
    s->waits = cfx_extract__scratch(a, ids, sizeof(uint32_t), s->err);
    s->part_of = cfx_extract__scratch(a, ids, sizeof(uint32_t), s->err);
    s->queue[0] = cfx_extract__scratch(a, n, sizeof(cfx_node *), s->err);
    s->queue[1] = cfx_extract__scratch(a, n, sizeof(cfx_node *), s->err);
    s->part_is_acc = cfx_extract__scratch(a, n, sizeof(bool), s->err);
    s->part_size = cfx_extract__scratch(a, n, sizeof(uint32_t), s->err);
    s->part_now = cfx_extract__scratch(a, n, sizeof(uint32_t), s->err);
    s->tag = cfx_extract__scratch(a, n, sizeof(char *), s->err);
    if (!s->on_acc || !s->waits || !s->part_of || !s->queue[0] ||
        !s->queue[1] || !s->part_is_acc || !s->part_size || !s->part_now ||
        !s->tag)
        return s->err->code;
    for (cfx_node *at = cfx_graph_first(s->g); at; at = cfx_node_next(at))
        s->on_acc[at->id] = cfx_node_is_call(at) &&
                            support.fn(support.user, at);
    if (!s->o.allow_non_tensor)
        keep_numbers_together(s);
    cfx_status st = cfx_acc_units__init(&s->unit, s->g, a, s->err);
    if (!st && !s->o.skip_fusion)
        st = cfx_acc_units__group(&s->unit, s->on_acc, s->g, a, s->err);
    return st;
}

/* ---- Alternating parts ---- */

/* Queue all calls of a unit; they run on the same side. */
static void ready(splitting *s, uint32_t unit)
{
    for (uint32_t i = s->unit.start[unit]; i < s->unit.start[unit + 1]; i++) {
        cfx_node *n = s->unit.call[i];
        bool acc = s->on_acc[n->id];
        s->queue[acc][s->tail[acc]++] = n;
    }
}

/* True if n is a call of another unit. */
static bool is_foreign(const splitting *s, const cfx_node *n, uint32_t unit)
{
    return cfx_node_is_call(n) && s->unit.of[n->id] != unit;
}

static void start(splitting *s)
{
    for (cfx_node *n = cfx_graph_first(s->g); n; n = cfx_node_next(n)) {
        uint32_t unit = s->unit.of[n->id];
        for (uint32_t k = 0; k < n->ninputs && cfx_node_is_call(n); k++)
            s->waits[unit] += is_foreign(s, cfx_node_input(n, k), unit);
    }
    for (uint32_t i = 0; i < s->unit.n; i++)
        if (!s->waits[i])
            ready(s, i);
}

/* Fill parts in turn. The host begins if it has a ready call. */
static void fill_parts(splitting *s)
{
    bool acc = !s->tail[0];
    for (; s->head[0] < s->tail[0] || s->head[1] < s->tail[1]; acc = !acc) {
        uint32_t part = s->nparts++;
        s->part_is_acc[part] = acc;
        while (s->head[acc] < s->tail[acc]) {
            const cfx_node *n = s->queue[acc][s->head[acc]++];
            s->part_of[n->id] = part;
            s->part_size[part]++;
            uint32_t unit = s->unit.of[n->id];
            for (const cfx_use *u = n->first_user; u; u = u->next)
                if (is_foreign(s, u->user, unit) &&
                    !--s->waits[s->unit.of[u->user->id]])
                    ready(s, s->unit.of[u->user->id]);
        }
    }
}

/* Join parts that are too small for the accelerator to the part before them,
 * then join neighbouring parts of the host. */
static cfx_status drop_small(splitting *s)
{
    const char *prefix = s->o.host_prefix ? s->o.host_prefix : "_run_on_cpu_";
    uint32_t least = s->o.min_acc_module_size ? s->o.min_acc_module_size : 1;
    bool last_is_acc = true;
    for (uint32_t i = 0; i < s->nparts; i++) {
        bool acc = s->part_is_acc[i] && s->part_size[i] >= least;
        bool joins = s->part_is_acc[i] ? !acc && s->ntags
                                       : s->ntags && !last_is_acc;
        char text[128];
        if (!joins) {
            snprintf(text, sizeof(text), "%s%u", acc ? "_run_on_acc_" : prefix,
                     s->ntags);
            s->tag[s->ntags] = cfx_arena_strdup(&s->arena, text, strlen(text));
            if (!s->tag[s->ntags++])
                return cfx_no_memory(s->err);
            last_is_acc = acc;
        }
        s->part_now[i] = s->ntags - 1;
    }
    return CFX_OK;
}

static const char *tag_of(void *user, const cfx_node *n)
{
    const splitting *s = user;
    return s->tag[s->part_now[s->part_of[n->id]]];
}

static cfx_status split(splitting *s, cfx_module **out, const cfx_module *gm,
                        cfx_support support)
{
    cfx_split_options o = {.size = sizeof(o),
                           .tuple_return = s->o.return_tuple};
    cfx_status st = place(s, support);
    if (st)
        return st;
    start(s);
    fill_parts(s);
    st = drop_small(s);
    if (!st && s->o.max_parts && s->ntags > s->o.max_parts)
        st = cfx_fail(
            s->err, CFX_EINVAL,
            "Cannot fulfill max_acc_splits limit. This may cause split fragmentation and result in performance issues.");
    return st ? st
              : cfx_split_by_tags(out, gm, s->tag, s->ntags, tag_of, s, &o,
                                  s->err);
}

cfx_status cfx_split_for_accelerator(cfx_module **out, const cfx_module *gm,
                                     cfx_support support,
                                     const cfx_accelerate_options *options,
                                     cfx_error *err)
{
    cfx_error why;
    splitting s = {.g = cfx_graph_module_graph(gm), .err = &why};
    why.code = CFX_OK;
    *out = NULL;
    if (!s.g)
        return cfx_fail(err, CFX_EINVAL, "the module has no graph");
    s.ctx = cfx_graph_context(s.g);
    if (options)
        memcpy(&s.o, options,
               options->size < sizeof(s.o) ? options->size : sizeof(s.o));
    cfx_arena_init(&s.arena, s.ctx);
    cfx_status st = split(&s, out, gm, support);
    cfx_arena_release(&s.arena);
    return st ? cfx_fail_from(err, &why) : CFX_OK;
}
