/*
 * schedule -- list a graph's collectives, and compare the lists of all ranks.
 *
 * A list is text, a line for each call: group, node and call, which
 * SEPARATOR divides. Lines without a node tell the version, which comes first,
 * and the graph, which comes last: where calls differ, graphs differ, too. Ranks gather a hash of their lists, and the lists only if a hash
 * differs.
 */
#include <cfx/schedule.h>
#include <cfx/version.h>

#include "base/comm_impl.h"
#include "base/util.h"
#include "format/print.h"

#define SEPARATOR '\x1f'

/* ---- The list of this rank ---- */

typedef struct schedule {
    cfx_shape_prop base;
    const cfx_node *at;
    cfx_buf text;
} schedule;

static cfx_status schedule_run_node(cfx_interp *it, const cfx_node *n,
                                    cfx_value *out);

static const cfx_interp_class schedule_class = {
    .size = sizeof(cfx_interp_class),
    .name = "schedule",
    .super = &cfx_shape_prop_class,
    .run_node = schedule_run_node,
};

static cfx_status schedule_run_node(cfx_interp *it, const cfx_node *n,
                                    cfx_value *out)
{
    ((schedule *)(void *)it)->at = n;
    return CFX_SUPER(&schedule_class, run_node)(it, n, out);
}

static void add_line(cfx_buf *b, const char *group, const char *node,
                     const char *call)
{
    cfx_buf_puts(b, group);
    cfx_buf_putc(b, SEPARATOR);
    cfx_buf_puts(b, node);
    cfx_buf_putc(b, SEPARATOR);
    cfx_buf_puts(b, call);
    cfx_buf_putc(b, '\n');
}

static cfx_status add_call(void *user, const char *group, const char *call,
                           cfx_error *err)
{
    schedule *s = user;
    add_line(&s->text, group, s->at ? s->at->name : "", call);
    return s->text.failed ? cfx_no_memory(err) : CFX_OK;
}

static uint64_t hash_of(const cfx_buf *b)
{
    uint64_t h = b->len;
    for (size_t i = 0; i < b->len; i++)
        h = cfx_mix64(h ^ (uint8_t)b->s[i]) + i;
    return h;
}

static cfx_status add_model(cfx_buf *b, const cfx_module *gm, cfx_context *ctx,
                            cfx_error *err)
{
    cfx_buf graph;
    char line[64];
    cfx_buf_init(&graph, ctx);
    cfx_status st = cfx_print_graph(cfx_sink_buf(&graph),
                                    cfx_graph_module_graph(gm), false, err);
    if (!st) {
        snprintf(line, sizeof(line), "graph %016llx",
                 (unsigned long long)hash_of(&graph));
        add_line(b, "0", "", line);
    }
    cfx_buf_release(&graph);
    return st;
}

static cfx_status meta_of(void *user, cfx_value v, cfx_value *out)
{
    cfx_tensor *meta;
    cfx_error *err = user;
    *out = cfx_value_ref(v);
    if (v.kind != CFX_TENSOR)
        return CFX_OK;
    const cfx_tensor *t = v.u.tensor;
    cfx_value_unref(*out);
    cfx_status st = cfx_tensor_meta(&meta, t->ctx, (cfx_dtype)t->dtype,
                                    t->rank, t->shape, t->stride, err);
    *out = st ? CFX_NOTHING : cfx_value_of_tensor(meta);
    return st;
}

/* Propagate the shapes of the inputs; each collective adds its line. */
static cfx_status walk(schedule *s, cfx_context *ctx, const cfx_value *inputs,
                       size_t n, cfx_error *err)
{
    cfx_value result = CFX_NOTHING;
    cfx_value *meta = cfx_calloc(ctx, n + 1, sizeof(*meta));
    cfx_status st = meta ? CFX_OK : cfx_no_memory(err);
    for (size_t i = 0; !st && i < n; i++)
        st = cfx_value_map(&meta[i], ctx, inputs[i], meta_of, err, err);
    if (!st)
        st = cfx_comm__observe(ctx, add_call, s, err);
    if (!st) {
        st = cfx_interp_run(&s->base.base, meta, n, &result, err);
        cfx_comm__observe(ctx, NULL, NULL, NULL);
    }
    cfx_value_unref(result);
    for (size_t i = 0; meta && i < n; i++)
        cfx_value_unref(meta[i]);
    cfx_free(ctx, meta, (n + 1) * sizeof(*meta));
    return st;
}

static cfx_status list(cfx_buf *out, cfx_module *gm, const cfx_value *inputs,
                       size_t n, cfx_error *err)
{
    const cfx_shape_prop_options o = {.size = sizeof(o), .no_meta = true};
    cfx_context *ctx = out->ctx;
    schedule s = {.text = *out};
    add_line(&s.text, "0", "", "cfx " CFX_VERSION);
    cfx_status st = cfx_shape_prop_init(&s.base, &schedule_class, gm, &o, err);
    if (!st)
        st = walk(&s, ctx, inputs, n, err);
    if (!st)
        st = add_model(&s.text, gm, ctx, err);
    cfx_interp_release(&s.base.base);
    *out = s.text;
    return !st && out->failed ? cfx_no_memory(err) : st;
}

/* ---- Comparing ---- */

typedef struct line {
    const char *group, *node, *call;
    int ngroup, nnode, ncall;
} line;

/* Read the line at *at, and move to the next; false at the end. */
static bool next_line(const char **at, line *l)
{
    if (!**at)
        return false;
    const char *node = strchr(*at, SEPARATOR) + 1;
    const char *call = strchr(node, SEPARATOR) + 1;
    const char *end = strchr(call, '\n');
    *l = (line){*at,
                node,
                call,
                (int)(node - *at) - 1,
                (int)(call - node) - 1,
                (int)(end - call)};
    *at = end + 1;
    return true;
}

static bool next_of_group(const char **at, line *l, const char *group)
{
    while (next_line(at, l))
        if ((size_t)l->ngroup == strlen(group) &&
            !memcmp(l->group, group, (size_t)l->ngroup))
            return true;
    return false;
}

static void describe(char *to, size_t size, int rank, const line *l,
                     const char *group)
{
    if (!l)
        snprintf(to, size, "rank %d makes no further call in group '%s'", rank,
                 group);
    else if (!l->nnode)
        snprintf(to, size, "rank %d has %.*s", rank, l->ncall, l->call);
    else
        snprintf(to, size, "rank %d calls %.*s in %%%.*s", rank, l->ncall,
                 l->call, l->nnode, l->node);
}

/* Compare the calls of two ranks in one group. */
static cfx_status compare(const char *group, int a, const char *of_a, int b,
                          const char *of_b, cfx_error *err)
{
    line x, y;
    char left[900], right[900];
    for (;;) {
        bool has_x = next_of_group(&of_a, &x, group);
        bool has_y = next_of_group(&of_b, &y, group);
        if (!has_x && !has_y)
            return CFX_OK;
        if (has_x && has_y && x.ncall == y.ncall &&
            !memcmp(x.call, y.call, (size_t)x.ncall))
            continue;
        describe(left, sizeof(left), a, has_x ? &x : NULL, group);
        describe(right, sizeof(right), b, has_y ? &y : NULL, group);
        return cfx_fail(err, CFX_EGRAPH, "%s, %s", right, left);
    }
}

/* Compare the ranks of a group with its first one. */
static cfx_status compare_group(cfx_context *ctx, const char *name,
                                const char *texts, int64_t size,
                                cfx_error *err)
{
    cfx_group g;
    cfx_error ignored = {0};
    cfx_status st = cfx_context_find_group(ctx, name, &g, &ignored);
    if (st == CFX_ENAME)
        return cfx_fail_from(err, &ignored);
    st = CFX_OK;
    const int first = g.ranks ? g.ranks[0] : 0;
    for (int i = 1; i < g.size && !st; i++) {
        int r = g.ranks ? g.ranks[i] : i;
        st = compare(name, first, texts + first * size, r, texts + r * size,
                     err);
    }
    return st;
}

/* `texts` has the list of each rank, in `size` bytes. */
static cfx_status compare_all(cfx_context *ctx, int n, const char *texts,
                              int64_t size, cfx_error *err)
{
    cfx_status st = compare_group(ctx, "0", texts, size, err);
    for (int r = 0; r < n && !st; r++) {
        const char *at = texts + r * size;
        char name[256];
        line l;
        while (!st && next_line(&at, &l)) {
            snprintf(name, sizeof(name), "%.*s", l.ngroup, l.group);
            st = compare_group(ctx, name, texts, size, err);
        }
    }
    return st;
}

static cfx_status exchange(cfx_context *ctx, const cfx_buf *mine, int64_t most,
                           cfx_error *err)
{
    cfx_group world;
    cfx_status st = cfx_context_find_group(ctx, "0", &world, err);
    if (st)
        return st;
    size_t size = (size_t)most + 1, all = size * (size_t)world.size;
    char *own = cfx_calloc(ctx, size, 1), *texts = cfx_calloc(ctx, all, 1);
    st = own && texts ? CFX_OK : cfx_no_memory(err);
    if (!st && mine->len)
        memcpy(own, mine->s, mine->len);
    if (!st)
        st = cfx_comm_all_gather(ctx, &world, own, texts, (int64_t)size, err);
    if (!st)
        st = compare_all(ctx, world.size, texts, (int64_t)size, err);
    cfx_free(ctx, own, size);
    cfx_free(ctx, texts, all);
    return st;
}

/* Gather hash and length of each list; *most is the greatest length. */
static cfx_status compare_hashes(cfx_context *ctx, const cfx_buf *mine,
                                 bool *equal, int64_t *most, cfx_error *err)
{
    cfx_group world;
    const uint64_t own[2] = {hash_of(mine), mine->len};
    cfx_status st = cfx_context_find_group(ctx, "0", &world, err);
    if (st)
        return st;
    size_t size = sizeof(own) * (size_t)world.size;
    uint64_t *all = cfx_calloc(ctx, size, 1);
    st = all ? cfx_comm_all_gather(ctx, &world, own, all, sizeof(own), err)
             : cfx_no_memory(err);
    *equal = true;
    *most = 0;
    for (int r = 0; !st && r < world.size; r++) {
        *equal = *equal && all[2 * r] == own[0] && all[2 * r + 1] == own[1];
        if ((int64_t)all[2 * r + 1] > *most)
            *most = (int64_t)all[2 * r + 1];
    }
    cfx_free(ctx, all, size);
    return st;
}

cfx_status cfx_schedule_agree(cfx_module *gm, const cfx_value *inputs,
                              size_t ninputs, cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    cfx_buf mine;
    bool equal;
    int64_t most;
    if (!cfx_context_comm(ctx))
        return CFX_OK;
    cfx_buf_init(&mine, ctx);
    cfx_status st = list(&mine, gm, inputs, ninputs, err);
    if (!st)
        st = compare_hashes(ctx, &mine, &equal, &most, err);
    if (!st && !equal)
        st = exchange(ctx, &mine, most, err);
    cfx_buf_release(&mine);
    return st;
}
