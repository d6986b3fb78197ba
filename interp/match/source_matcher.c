/*
 * source_matcher -- group the nodes of a graph by the source in their meta.
 *
 * The first walk finds the partition of each node and counts; the second one
 * fills arrays that are cut from one block.
 */
#include <cfx/source_matcher.h>

#include <ctype.h>

#include "base/util.h"

typedef struct cfx_grouping {
    cfx_source_partitions *out;
    const cfx_graph *g;
    const char *const *wanted;
    size_t nwanted;
    cfx_map names; /* "3:fc1": 1 + index of a partition */
    cfx_arena keys;
    uint32_t *of;   /* by id: 1 + index of a partition */
    uint32_t *seen; /* by id: 1 + the partition that has it as input */
} cfx_grouping;

/* ---- Sources ---- */

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static bool same_source(const char *a, const char *b)
{
    const char *x = last_part(a), *y = last_part(b);
    return !strcmp(a, b) || (isupper((unsigned char)*x) && !strcmp(x, y));
}

static size_t find_wanted(const cfx_grouping *by, const char *source)
{
    size_t i = 0;
    while (i < by->nwanted && !same_source(by->wanted[i], source))
        i++;
    return i;
}

/* A pair of texts. */
static bool is_pair(cfx_value v)
{
    return cfx_value_is_seq(v) && v.u.seq->len == 2 &&
           v.u.seq->item[0].kind == CFX_STR &&
           v.u.seq->item[1].kind == CFX_STR;
}

static const char *pair_text(cfx_value v, int i)
{
    return v.u.seq->item[i].u.str->text;
}

/* Return the index of a node's source among the wanted ones, or nwanted, and
 * the name of its use. */
static size_t source_of(const cfx_grouping *by, const cfx_node *n,
                        const char **name)
{
    cfx_value v = cfx_node_meta(n, "source_fn_stack");
    if (cfx_value_is_seq(v) && v.u.seq->len) {
        v = v.u.seq->item[v.u.seq->len - 1];
        *name = is_pair(v) ? pair_text(v, 0) : NULL;
        return *name ? find_wanted(by, pair_text(v, 1)) : by->nwanted;
    }
    v = cfx_node_meta(n, "torch_fn");
    if (is_pair(v)) {
        const char *dot = strchr(pair_text(v, 1), '.');
        size_t i = dot ? find_wanted(by, dot + 1) : by->nwanted;
        *name = pair_text(v, 0);
        if (i < by->nwanted)
            return i;
    }
    v = cfx_node_meta(n, "nn_module_stack");
    if ((n->op != CFX_CALL_FUNCTION && n->op != CFX_CALL_METHOD) ||
        v.kind != CFX_DICT || v.u.seq->len < 2)
        return by->nwanted;
    v = v.u.seq->item[v.u.seq->len - 1];
    *name = is_pair(v) ? pair_text(v, 0) : NULL;
    return *name ? find_wanted(by, pair_text(v, 1)) : by->nwanted;
}

/* ---- The first walk ---- */

/* Return 1 + a partition's index, a new one if need be; 0 for lack of
 * memory. */
static uint32_t partition_of(cfx_grouping *by, size_t source, const char *name)
{
    cfx_source_partitions *out = by->out;
    cfx_buf key;
    bool added = false;
    cfx_buf_init(&key, out->ctx);
    cfx_buf_printf(&key, "%zu:%s", source, name);
    char *kept = key.failed ? NULL
                            : cfx_arena_strdup(&by->keys, key.s, key.len);
    cfx_map_entry *e = kept ? cfx_map_put(&by->names, kept, key.len, &added)
                            : NULL;
    cfx_buf_release(&key);
    if (e && added &&
        !cfx_grow(out->ctx, out->item, out->cap, out->n + 1, NULL)) {
        out->item[out->n++] = (cfx_source_partition){
            .source = by->wanted[source],
            .name = name,
        };
        e->v.u = out->n;
    }
    return e ? (uint32_t)e->v.u : 0;
}

static cfx_status group(cfx_grouping *by, cfx_error *err)
{
    for (cfx_node *n = cfx_graph_first(by->g); n; n = cfx_node_next(n)) {
        const char *name = NULL;
        size_t source = source_of(by, n, &name);
        if (source == by->nwanted)
            continue;
        uint32_t p = partition_of(by, source, name);
        if (!p)
            return cfx_no_memory(err);
        by->of[n->id] = p;
    }
    return CFX_OK;
}

/* ---- The second walk ---- */

/* Add a node to an array, or only count it while the array is not allocated. */
static void put(cfx_node **array, size_t *n, cfx_node *node)
{
    if (array)
        array[*n] = node;
    ++*n;
}

static void add_input(cfx_grouping *by, cfx_source_partition *p, uint32_t k,
                      cfx_node *input)
{
    if (by->of[input->id] == k || by->seen[input->id] == k)
        return;
    by->seen[input->id] = k;
    if (input->op == CFX_GET_ATTR)
        put(p->params, &p->nparams, input);
    else
        put(p->inputs, &p->ninputs, input);
}

static void add_node(cfx_grouping *by, cfx_node *n)
{
    uint32_t k = by->of[n->id];
    cfx_source_partition *p = &by->out->item[k - 1];
    put(p->nodes, &p->nnodes, n);
    for (uint32_t i = 0; i < n->ninputs; i++)
        add_input(by, p, k, cfx_node_input(n, i));
    if (n->op == CFX_GET_ATTR) {
        put(p->params, &p->nparams, n);
        return;
    }
    for (const cfx_use *u = n->first_user; u; u = u->next)
        if (by->of[u->user->id] != k) {
            put(p->outputs, &p->noutputs, n);
            break;
        }
}

/* Walk the nodes of each partition together: partitions may be interleaved in
 * the graph, and `seen` only remembers the last partition of an input. */
static void fill(cfx_grouping *by, cfx_node *const *order, size_t n)
{
    memset(by->seen, 0, cfx_graph_ids(by->g) * sizeof(*by->seen));
    for (size_t i = 0; i < n; i++)
        add_node(by, order[i]);
}

/* Sort all nodes by partition, by a counting sort. */
static bool sort_nodes(cfx_grouping *by, cfx_node ***order, size_t *count)
{
    cfx_source_partitions *out = by->out;
    size_t *start = cfx_calloc(out->ctx, out->n + 1, sizeof(*start));
    *count = 0;
    for (cfx_node *n = cfx_graph_first(by->g); n; n = cfx_node_next(n))
        *count += by->of[n->id] != 0;
    *order = cfx_alloc(out->ctx, (*count + 1) * sizeof(**order));
    bool ok = start && *order;
    for (cfx_node *n = cfx_graph_first(by->g); n && ok; n = cfx_node_next(n))
        if (by->of[n->id])
            start[by->of[n->id]]++;
    for (size_t i = 1; i <= out->n && ok; i++)
        start[i] += start[i - 1];
    for (cfx_node *n = cfx_graph_first(by->g); n && ok; n = cfx_node_next(n))
        if (by->of[n->id])
            (*order)[start[by->of[n->id] - 1]++] = n;
    cfx_free(out->ctx, start, (out->n + 1) * sizeof(*start));
    return ok;
}

/* Cut the arrays of all partitions from one block of the counted size. */
static bool cut_arrays(cfx_source_partitions *out)
{
    size_t total = 0;
    for (size_t i = 0; i < out->n; i++) {
        const cfx_source_partition *p = &out->item[i];
        total += p->nnodes + p->ninputs + p->noutputs + p->nparams;
    }
    out->nodes = cfx_alloc(out->ctx, (total + 1) * sizeof(*out->nodes));
    if (!out->nodes)
        return false;
    out->nnodes = total + 1;
    cfx_node **at = out->nodes;
    for (size_t i = 0; i < out->n; i++) {
        cfx_source_partition *p = &out->item[i];
        p->nodes = at;
        p->inputs = p->nodes + p->nnodes;
        p->outputs = p->inputs + p->ninputs;
        p->params = p->outputs + p->noutputs;
        at = p->params + p->nparams;
        p->nnodes = p->ninputs = p->noutputs = p->nparams = 0;
    }
    return true;
}

static cfx_status collect(cfx_grouping *by, cfx_error *err)
{
    cfx_context *ctx = by->out->ctx;
    cfx_node **order = NULL;
    size_t count = 0;
    bool ok = sort_nodes(by, &order, &count);
    if (ok) {
        fill(by, order, count);
        ok = cut_arrays(by->out);
    }
    if (ok)
        fill(by, order, count);
    cfx_free(ctx, order, (count + 1) * sizeof(*order));
    return ok ? CFX_OK : cfx_no_memory(err);
}

static void filter(cfx_source_partitions *out,
                   bool (*keep)(void *user, const cfx_node *n), void *user)
{
    size_t kept = 0;
    for (size_t i = 0; i < out->n; i++) {
        bool all = true;
        for (size_t k = 0; k < out->item[i].nnodes && all; k++)
            all = keep(user, out->item[i].nodes[k]);
        if (all)
            out->item[kept++] = out->item[i];
    }
    out->n = kept;
}

/* ---- Public functions ---- */

cfx_status cfx_get_source_partitions(
    cfx_source_partitions *out, const cfx_graph *g, const char *const *wanted,
    size_t nwanted, bool (*keep)(void *user, const cfx_node *n), void *user,
    cfx_error *err)
{
    cfx_context *ctx = cfx_graph_context(g);
    size_t size = ((size_t)cfx_graph_ids(g) + 1) * sizeof(uint32_t);
    cfx_grouping by = {
        .out = out, .g = g, .wanted = wanted, .nwanted = nwanted};
    *out = (cfx_source_partitions){.ctx = ctx};
    cfx_map_init(&by.names, ctx);
    cfx_arena_init(&by.keys, ctx);
    by.of = cfx_calloc(ctx, 1, size);
    by.seen = cfx_calloc(ctx, 1, size);
    cfx_status st = by.of && by.seen ? group(&by, err) : cfx_no_memory(err);
    if (!st)
        st = collect(&by, err);
    if (!st && keep)
        filter(out, keep, user);
    cfx_free(ctx, by.of, size);
    cfx_free(ctx, by.seen, size);
    cfx_map_release(&by.names);
    cfx_arena_release(&by.keys);
    return st;
}

void cfx_source_partitions_release(cfx_source_partitions *found)
{
    if (!found || !found->ctx)
        return;
    cfx_free(found->ctx, found->nodes, found->nnodes * sizeof(*found->nodes));
    cfx_free(found->ctx, found->item, found->cap * sizeof(*found->item));
    *found = (cfx_source_partitions){0};
}

/* Nodes are in graph order, so a node is found by binary search. */
static bool has_node(const cfx_source_partition *p, const cfx_node *n)
{
    size_t low = 0, high = p->nnodes;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (cfx_node_before(p->nodes[mid], n))
            low = mid + 1;
        else
            high = mid;
    }
    return low < p->nnodes && p->nodes[low] == n;
}

bool cfx_source_partitions_connected(const cfx_source_partition *a,
                                     const cfx_source_partition *b)
{
    for (size_t i = 0; i < b->ninputs; i++)
        if (has_node(a, b->inputs[i]))
            return true;
    for (size_t i = 0; i < b->nparams; i++)
        if (has_node(a, b->params[i]))
            return true;
    return false;
}
