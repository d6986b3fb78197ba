/*
 * text_diff -- the changes between two graphs, line by line.
 *
 * Nodes are matched by name, which passes keep. Among equal pairs the longest
 * subsequence that increases in both graphs is kept, found in n log n. All
 * other nodes are removed from the one and added to the other.
 */
#include <stdlib.h>

#include "format/print.h"
#include "graph/graph_impl.h"

/* A node of the first graph with its partner. */
typedef struct pair {
    const cfx_node *a, *b;
    size_t place;  /* of b in the second graph */
    size_t before; /* the pair before it in its sequence; or NONE */
} pair;

#define NONE SIZE_MAX

typedef struct diff {
    const cfx_graph *a, *b;
    pair *pairs;
    size_t npairs, cap;
    size_t *end;           /* end[k]: the pair that ends the best sequence of
                                k + 1 pairs */
    size_t *place;         /* of the nodes of b, by id */
    bool *kept_a, *kept_b; /* by id */
    cfx_values values;
    size_t nlines;
} diff;

static bool same_name(const void *user, const cfx_node *m, const cfx_node *n)
{
    (void)user;
    return !strcmp(m->name, n->name);
}

/* ---- Pairs ---- */

static void find_pairs(diff *d)
{
    size_t place = 0;
    for (cfx_node *n = cfx_graph_first(d->b); n; n = cfx_node_next(n))
        d->place[n->id] = place++;
    for (cfx_node *n = cfx_graph_first(d->a); n; n = cfx_node_next(n)) {
        const cfx_node *m = cfx_graph_find(d->b, n->name);
        if (m && cfx_node__same(n, m, same_name, NULL))
            d->pairs[d->npairs++] = (pair){n, m, d->place[m->id], NONE};
    }
}

/* The first of `len` sequences that does not end before a place. */
static size_t search(const diff *d, size_t len, size_t place)
{
    size_t low = 0, high = len;
    if (len && d->pairs[d->end[len - 1]].place < place)
        return len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->pairs[d->end[middle]].place < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void keep_longest(diff *d)
{
    size_t len = 0;
    for (size_t i = 0; i < d->npairs; i++) {
        size_t k = search(d, len, d->pairs[i].place);
        d->pairs[i].before = k ? d->end[k - 1] : NONE;
        d->end[k] = i;
        len += k == len;
    }
    for (size_t i = len ? d->end[len - 1] : NONE; i != NONE;
         i = d->pairs[i].before) {
        d->kept_a[d->pairs[i].a->id] = true;
        d->kept_b[d->pairs[i].b->id] = true;
    }
}

/* ---- Lines ---- */

static void print_line(diff *d, char sign, const cfx_node *n)
{
    cfx_out *o = d->values.out;
    cfx_out_putc(o, sign);
    cfx_out_putc(o, ' ');
    cfx_out__node(&d->values, n, false);
    cfx_out_putc(o, '\n');
    d->nlines++;
}

static void print_changes(diff *d)
{
    const cfx_node *m = cfx_graph_first(d->a), *n = cfx_graph_first(d->b);
    while (m || n) {
        for (; m && !d->kept_a[m->id]; m = cfx_node_next(m))
            print_line(d, '-', m);
        for (; n && !d->kept_b[n->id]; n = cfx_node_next(n))
            print_line(d, '+', n);
        m = m ? cfx_node_next(m) : NULL;
        n = n ? cfx_node_next(n) : NULL;
    }
}

/* ---- Both ---- */

static bool diff_init(diff *d)
{
    cfx_context *ctx = cfx_graph_context(d->a);
    d->cap = cfx_graph_len(d->a) + 1;
    d->pairs = cfx_calloc(ctx, d->cap, sizeof(*d->pairs));
    d->end = cfx_calloc(ctx, d->cap, sizeof(*d->end));
    d->place = cfx_calloc(ctx, (size_t)d->b->ids + 1, sizeof(*d->place));
    d->kept_a = cfx_calloc(ctx, (size_t)d->a->ids + 1, sizeof(bool));
    d->kept_b = cfx_calloc(ctx, (size_t)d->b->ids + 1, sizeof(bool));
    return d->pairs && d->end && d->place && d->kept_a && d->kept_b;
}

static void diff_release(diff *d)
{
    cfx_context *ctx = cfx_graph_context(d->a);
    cfx_free(ctx, d->pairs, d->cap * sizeof(*d->pairs));
    cfx_free(ctx, d->end, d->cap * sizeof(*d->end));
    cfx_free(ctx, d->place, ((size_t)d->b->ids + 1) * sizeof(*d->place));
    cfx_free(ctx, d->kept_a, ((size_t)d->a->ids + 1) * sizeof(bool));
    cfx_free(ctx, d->kept_b, ((size_t)d->b->ids + 1) * sizeof(bool));
}

cfx_status cfx_graph_diff(cfx_sink to, const cfx_graph *a, const cfx_graph *b,
                          size_t *nlines, cfx_error *err)
{
    cfx_out out;
    diff d = {.a = a, .b = b};
    cfx_status st = CFX_OK;
    cfx_out_init(&out, to);
    d.values = (cfx_values){
        .out = &out, .style = CFX_STYLE_ARGUMENT, .err = err};
    if (diff_init(&d)) {
        find_pairs(&d);
        keep_longest(&d);
        print_changes(&d);
        st = cfx_out_finish(&out, err);
    } else {
        st = cfx_no_memory(err);
    }
    diff_release(&d);
    if (nlines)
        *nlines = st ? 0 : d.nlines;
    return st;
}
