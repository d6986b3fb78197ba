/*
 * place_idle -- idle devices get what the used ones have.
 */
#include "interp/placing.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct saturating {
    places *x;
    uint64_t *held;          /* by device: bytes of the parts there */
    bool *busy;              /* by device */
    uint32_t *used, nused;   /* devices that had parts from the start */
    uint32_t *copy;          /* round after round: the copies of those */
    uint32_t rounds;
} saturating;

/* The smallest idle device that holds so much. */
static bool find_idle(const saturating *t, uint64_t bytes, uint32_t *out)
{
    const placing *s = t->x->s;
    bool found = false;
    for (uint32_t d = 0; d < s->ndevices; d++)
        if (!t->busy[d] && s->device[d].memory >= bytes &&
            (!found || s->device[d].memory < s->device[*out].memory)) {
            *out = d;
            found = true;
        }
    return found;
}

static bool copy_all(saturating *t)
{
    uint32_t *copy = t->copy + (size_t)t->rounds * t->nused;
    if ((t->rounds + (uint64_t)2) * t->nused > t->x->s->ndevices)
        return false;
    for (uint32_t u = 0; u < t->nused; u++) {
        if (!find_idle(t, t->held[t->used[u]], &copy[u]))
            return false;
        t->busy[copy[u]] = true;
    }
    t->rounds++;
    return true;
}

static cfx_status find_used(saturating *t)
{
    places *x = t->x;
    placing *s = x->s;
    uint32_t homeless = 0;
    for (uint32_t p = 0; p < x->l.nparts; p++) {
        homeless += !x->item[p].n;
        for (uint32_t i = 0; i < x->item[p].n; i++) {
            uint32_t d = x->item[p].device[i];
            t->held[d] += (uint64_t)x->l.bytes[p];
            t->busy[d] = true;
        }
    }
    for (uint32_t d = 0; d < s->ndevices; d++)
        if (t->busy[d])
            t->used[t->nused++] = d;
    if (homeless)
        return cfx_fail(s->err, CFX_EINVAL, "Expect no_device_partitions has "
                        "0 device, but get %" PRIu32, homeless);
    return CFX_OK;
}

static int smaller(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* The copies of each device of a part, round after round, behind them; those
 * of a round in the order in which the devices were given. */
static cfx_status add_copies(const saturating *t, const uint32_t *place_of,
                             place *at)
{
    placing *s = t->x->s;
    uint32_t n = at->n;
    uint32_t *list = cfx_carve__scratch(&s->arena,
                                        (size_t)n * (t->rounds + (size_t)1),
                                        sizeof(*list), s->err);
    uint32_t *sorted = cfx_carve__scratch(&s->arena, n, sizeof(*sorted),
                                          s->err);
    if (!list || !sorted)
        return s->err->code;
    memcpy(list, at->device, n * sizeof(*list));
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = place_of[list[i]];
    qsort(sorted, n, sizeof(*sorted), smaller);
    for (uint32_t r = 0; r < t->rounds; r++)
        for (uint32_t i = 0; i < n; i++)
            list[at->n++] = t->copy[r * t->nused + sorted[i]];
    at->device = list;
    return CFX_OK;
}

cfx_status cfx_place__saturate(places *x)
{
    placing *s = x->s;
    saturating t = {.x = x};
    cfx_arena *a = &s->arena;
    uint32_t *place_of = cfx_carve__scratch(a, s->ndevices, sizeof(*place_of),
                                            s->err);
    t.held = cfx_carve__scratch(a, s->ndevices, sizeof(*t.held), s->err);
    t.busy = cfx_carve__scratch(a, s->ndevices, sizeof(*t.busy), s->err);
    t.used = cfx_carve__scratch(a, s->ndevices, sizeof(*t.used), s->err);
    t.copy = cfx_carve__scratch(a, s->ndevices, sizeof(*t.copy), s->err);
    if (!place_of || !t.held || !t.busy || !t.used || !t.copy)
        return s->err->code;
    cfx_status st = find_used(&t);
    while (!st && copy_all(&t))
        ;
    for (uint32_t u = 0; u < t.nused; u++)
        place_of[t.used[u]] = u;
    for (uint32_t p = 0; p < x->l.nparts && !st && t.rounds; p++)
        st = add_copies(&t, place_of, &x->item[p]);
    return st;
}
