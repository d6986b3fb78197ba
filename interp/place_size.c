/*
 * place_size -- parts by size alone: device after device, and embeddings apart
 * from the rest.
 */
#include "interp/placing.h"

#include <inttypes.h>
#include <stdlib.h>

/* A part that is being filled; the sources in it have the stamp. */
typedef struct filling {
    uint32_t part;
    int64_t bytes;
    bool begun;
} filling;

static void begin(placing *s, layout *l, filling *f)
{
    f->part = l->nparts++;
    f->bytes = 0;
    f->begun = false;
    s->stamp++;
}

/* What call c adds; with `take` it is added. */
static int64_t add(placing *s, layout *l, filling *f, uint32_t c, bool take)
{
    int64_t bytes = s->total[c];
    for (uint32_t k = s->first[c]; k < s->first[c + 1]; k++) {
        uint32_t in = s->input[k];
        if (in < s->ncalls)
            bytes += l->part[in] != f->part ? s->output[in] : 0;
        else if (s->mark[in] != s->stamp)
            bytes += s->total[in];
        if (take && in >= s->ncalls)
            s->mark[in] = s->stamp;
    }
    if (take) {
        l->part[c] = f->part;
        f->bytes += bytes;
        f->begun = true;
    }
    return bytes;
}

cfx_status cfx_place__no_mapping(placing *s)
{
    return cfx_fail(s->err, CFX_EINVAL, "Cannot Get a Valid Partition to "
                    "Logical Device Mapping");
}

/* ---- Device after device ---- */

/* The first idle device with so much memory. */
static cfx_status take_device(placing *s, bool *taken, uint32_t c,
                              int64_t bytes, uint32_t *out)
{
    for (uint32_t d = 0; d < s->ndevices; d++)
        if (!taken[d] && s->device[d].memory >= (uint64_t)bytes) {
            taken[d] = true;
            *out = d;
            return CFX_OK;
        }
    return cfx_fail(s->err, CFX_EINVAL, "%s is too large to fit any device",
                    s->node[c]->name);
}

static cfx_status place_call(placing *s, layout *l, filling *f, bool *taken,
                             uint32_t c)
{
    if (l->nparts <= s->ndevices && l->nparts) {
        uint64_t memory = s->device[l->device[f->part]].memory;
        int64_t needed = f->bytes + add(s, l, f, c, false);
        if ((uint64_t)needed <= memory) {
            add(s, l, f, c, true);
            return CFX_OK;
        }
    }
    if (l->nparts >= s->ndevices) {
        l->part[c] = l->nparts++;
        return CFX_OK;
    }
    begin(s, l, f);
    return take_device(s, taken, c, add(s, l, f, c, true),
                       &l->device[f->part]);
}

cfx_status cfx_place__by_size(placing *s, layout *l)
{
    filling f = {0};
    cfx_status st = CFX_OK;
    bool *taken = cfx_carve__scratch(&s->arena, s->ndevices, sizeof(*taken),
                                     s->err);
    if (!taken)
        return s->err->code;
    memset(l->part, 0xff, s->ncalls * sizeof(*l->part));
    l->nparts = 0;
    for (uint32_t c = 0; c < s->ncalls && !st; c++)
        st = place_call(s, l, &f, taken, c);
    if (st)
        return st;
    cfx_layout__weigh(s, l);
    return cfx_layout__find_devices(s, l) ? CFX_OK : cfx_place__no_mapping(s);
}

/* ---- Embeddings and the rest ---- */

/* The parts of one kind, in order. */
typedef struct kind {
    uint32_t *part, n;
    struct by_bytes {
        int64_t bytes;
        uint32_t at;         /* in `part` */
    } *sorted;
} kind;

typedef struct sparse {
    placing *s;
    layout *l;
    int64_t memory;          /* of each device */
    kind kind[2];            /* [1]: embeddings */
} sparse;

/* Is it a module that is an embedding or has one, or a function of that
 * name? */
static bool is_embedding(const placing *s, uint32_t c)
{
    const cfx_node *n = s->node[c];
    const char *target = n->target.u.str->text;
    if (n->op != CFX_CALL_MODULE)
        return strstr(target, "embedding") != NULL;
    const cfx_module *m = cfx_module_at(s->gm, target);
    for (const cfx_module *at = m; at; at = cfx_module_next(at, m))
        if (strstr(cfx_module_class_name(at), "Embedding"))
            return true;
    return false;
}

static void end(sparse *x, filling *f, bool embedding)
{
    kind *k = &x->kind[embedding];
    k->part[k->n++] = f->part;
}

static cfx_status fill_parts(sparse *x)
{
    placing *s = x->s;
    filling f;
    bool embedding = false;
    begin(s, x->l, &f);
    for (uint32_t c = 0; c < s->ncalls; c++) {
        bool next = is_embedding(s, c);
        if (next != embedding && f.begun) {
            end(x, &f, embedding);
            begin(s, x->l, &f);
        }
        embedding = next;
        if (f.begun && f.bytes + add(s, x->l, &f, c, false) > x->memory) {
            end(x, &f, embedding);
            begin(s, x->l, &f);
        }
        add(s, x->l, &f, c, true);
        if (f.bytes > x->memory)
            return cfx_fail(s->err, CFX_EINVAL, "%s is too large to fit into "
                            "a device", s->node[c]->target.u.str->text);
    }
    end(x, &f, embedding);
    return CFX_OK;
}

static int fewer_bytes(const void *a, const void *b)
{
    const struct by_bytes *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void sort_parts(sparse *x, kind *k)
{
    for (uint32_t i = 0; i < k->n; i++)
        k->sorted[i] = (struct by_bytes){x->l->bytes[k->part[i]], i};
    qsort(k->sorted, k->n, sizeof(*k->sorted), fewer_bytes);
}

/* Make the parts at i and j of a kind a new one, the last. */
static void join(sparse *x, kind *k, uint32_t i, uint32_t j)
{
    uint32_t a = k->part[i], b = k->part[j], made = x->l->nparts++, n = 0;
    for (uint32_t c = 0; c < x->s->ncalls; c++)
        if (x->l->part[c] == a || x->l->part[c] == b)
            x->l->part[c] = made;
    for (uint32_t m = 0; m < k->n; m++)
        if (m != i && m != j)
            k->part[n++] = k->part[m];
    k->part[n++] = made;
    k->n = n;
}

/* Join the smallest part with the largest that is at most one level away and
 * leaves room; the two then make no cycle, since levels are those of the
 * longest way. */
static bool join_smallest(sparse *x, kind *k)
{
    layout *l = x->l;
    cfx_layout__weigh(x->s, l);
    cfx_layout__connect(x->s, l);
    sort_parts(x, k);
    for (uint32_t i = k->n; i-- > 1;) {
        uint32_t small = k->sorted[0].at, large = k->sorted[i].at;
        uint32_t a = k->part[large], b = k->part[small];
        uint32_t low = l->level[a] < l->level[b] ? l->level[a] : l->level[b];
        if (l->level[a] - low > 1 || l->level[b] - low > 1)
            continue;
        if (cfx_layout__bytes(x->s, l, a, b) <= x->memory) {
            join(x, k, large, small);
            return true;
        }
    }
    return false;
}

/* Parts that have calls come before this one. */
static uint32_t number_of(const layout *l, uint32_t part)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < part; p++)
        n += !cfx_layout__is_empty(l, p);
    return n;
}

static cfx_status give_devices(sparse *x)
{
    placing *s = x->s;
    layout *l = x->l;
    const kind *rest = &x->kind[0], *embeddings = &x->kind[1];
    int64_t bytes = 0;
    for (uint32_t i = 0; i < rest->n; i++)
        bytes += l->bytes[rest->part[i]];
    if (embeddings->n > s->ndevices)
        return cfx_fail(s->err, CFX_EINVAL, "Need %" PRIu32 " devices, but "
                        "only %zu provided", embeddings->n, s->ndevices);
    for (uint32_t i = 0; i < embeddings->n; i++) {
        uint32_t p = embeddings->part[i];
        if (bytes + l->bytes[p] > x->memory)
            return cfx_fail(s->err, CFX_EINVAL, "partition_%" PRIu32
                            "(embedding partition) and non embedding "
                            "partitions can not fit into one device",
                            number_of(l, p));
        l->device[p] = i;
    }
    s->nshared = embeddings->n;
    for (uint32_t i = 0; i < rest->n && embeddings->n; i++)
        l->device[rest->part[i]] = SHARED;
    return embeddings->n || cfx_layout__find_devices(s, l)
               ? CFX_OK : cfx_place__no_mapping(s);
}

cfx_status cfx_place__sparse(placing *s, layout *l)
{
    sparse x = {.s = s, .l = l};
    uint64_t memory = s->device[0].memory;
    for (size_t d = 1; d < s->ndevices; d++)
        if (s->device[d].memory != memory)
            return cfx_fail(s->err, CFX_EINVAL, "All devices must have same "
                            "memory size!");
    x.memory = memory > INT64_MAX ? INT64_MAX : (int64_t)memory;
    for (int i = 0; i < 2; i++) {
        kind *k = &x.kind[i];
        k->part = cfx_carve__scratch(&s->arena, s->ncalls, sizeof(*k->part),
                                     s->err);
        k->sorted = cfx_carve__scratch(&s->arena, s->ncalls,
                                       sizeof(*k->sorted), s->err);
        if (!k->part || !k->sorted)
            return s->err->code;
    }
    memset(l->part, 0xff, s->ncalls * sizeof(*l->part));
    l->nparts = 0;
    cfx_status st = fill_parts(&x);
    for (int i = 0; i < 2 && !st; i++)
        while (!st && join_smallest(&x, &x.kind[i]))
            st = cfx_context_check(s->ctx, s->err);
    cfx_layout__weigh(s, l);
    return st ? st : give_devices(&x);
}
