/*
 * place -- a graph spread over devices: parts and their devices are found, the
 * graph is split, and what came out is told as a graph of parts.
 */
#include "interp/placing.h"

#include <inttypes.h>
#include <stdlib.h>


/* ---- Checks ---- */

static cfx_status check_devices(const placing *s)
{
    if (!s->ndevices)
        return cfx_fail(s->err, CFX_EINVAL, "No devices");
    if (s->ndevices >= SHARED)
        return cfx_fail(s->err, CFX_EINVAL, "too many devices");
    for (size_t i = 0; i < s->ndevices; i++)
        for (size_t k = 0; k < i; k++)
            if (s->device[i].id == s->device[k].id)
                return cfx_fail(s->err, CFX_EINVAL, "%s and %s have the same "
                                "id %" PRId64, s->device[k].name,
                                s->device[i].name, s->device[i].id);
    return CFX_OK;
}

static cfx_status take_sizes(placing *s)
{
    const cfx_node_size *size = s->o.sizes;
    cfx_node_size *mine = NULL;
    cfx_status st = CFX_OK;
    if (!size) {
        size = mine = cfx_carve__scratch(&s->arena, cfx_graph_ids(s->g),
                                         sizeof(*mine), s->err);
        st = !mine ? s->err->code
                   : cfx_node_sizes(mine, s->gm, s->o.inputs, s->o.ninputs,
                                    s->err);
    }
    if (!st)
        st = cfx_placing__init(s, size);
    if (!st && !s->ncalls)
        st = cfx_fail(s->err, CFX_EINVAL, "No Partition since no operations "
                      "in the module");
    return st;
}

/* ---- As told ---- */

int cfx_place__by_number(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static uint32_t index_of(const placing *s, int64_t id)
{
    uint32_t d = 0;
    while (d < s->ndevices && s->device[d].id != id)
        d++;
    return d;
}

static cfx_status take_places(places *x)
{
    placing *s = x->s;
    uint32_t n = x->l.nparts;
    for (uint32_t p = 0; p < n; p++) {
        const cfx_part_devices *given = &s->o.part_devices[p];
        x->item[p] = (place){.number = given->part, .given = given};
    }
    qsort(x->item, n, sizeof(*x->item), cfx_place__by_number);
    for (uint32_t p = 0; p < n; p++) {
        place *at = &x->item[p];
        if (p && at[-1].number == at->number)
            return cfx_fail(s->err, CFX_EINVAL, "part %" PRId64 " is given "
                            "devices twice", at->number);
        at->n = (uint32_t)at->given->n;
        at->device = cfx_carve__scratch(&s->arena, at->n,
                                        sizeof(*at->device), s->err);
        if (!at->device)
            return s->err->code;
        for (uint32_t i = 0; i < at->n; i++) {
            at->device[i] = index_of(s, at->given->id[i]);
            if (at->device[i] == s->ndevices)
                return cfx_fail(s->err, CFX_EINVAL, "part %" PRId64 " is "
                                "given device %" PRId64 ", which is not there",
                                at->number, at->given->id[i]);
        }
    }
    return CFX_OK;
}

static cfx_status place_as_told(places *x)
{
    placing *s = x->s;
    if (!s->o.part_of)
        return cfx_fail(s->err, CFX_EINVAL, "the parts of nodes are not "
                        "given");
    cfx_status st = take_places(x);
    for (uint32_t c = 0; c < s->ncalls && !st; c++) {
        place key = {.number = s->o.part_of[s->node[c]->id]};
        const place *at = bsearch(&key, x->item, x->l.nparts,
                                  sizeof(*x->item), cfx_place__by_number);
        if (!at)
            st = cfx_fail(s->err, CFX_EINVAL, "'%s' is of part %" PRId64
                          ", which is given no devices", s->node[c]->name,
                          key.number);
        else
            x->l.part[c] = (uint32_t)(at - x->item);
    }
    if (!st)
        cfx_layout__weigh(s, &x->l);
    return st;
}

/* ---- The modes ---- */

static void place_as_one(places *x, uint32_t device, uint64_t bytes)
{
    cfx_layout__weigh(x->s, &x->l);
    x->l.device[0] = device;
    x->l.bytes[0] = (int64_t)bytes;
    x->single = true;
}

static cfx_status place_by_mode(places *x)
{
    placing *s = x->s;
    switch (s->o.mode) {
    case CFX_SPARSE_NN:
        return cfx_place__sparse(s, &x->l);
    case CFX_COST_AWARE:
        return cfx_place__by_cost(s, &x->l);
    case CFX_KL_BASED:
        if (cfx_place__by_size(s, &x->l))
            return s->err->code;
        return cfx_place__swap(s, &x->l);
    default:
        return cfx_place__by_size(s, &x->l);
    }
}

/* One part if the whole fits; else what the mode says. */
static cfx_status place_all(places *x)
{
    placing *s = x->s;
    uint64_t whole = 0, memory = 0;
    uint32_t largest = 0;
    for (uint32_t i = 0; i < s->nitems; i++)
        whole += (uint64_t)s->total[i];
    for (uint32_t d = 0; d < s->ndevices; d++) {
        uint64_t more = s->device[d].memory;
        memory = more > UINT64_MAX - memory ? UINT64_MAX : memory + more;
        if (more > s->device[largest].memory)
            largest = d;
    }
    if (whole <= s->device[largest].memory) {
        place_as_one(x, largest, whole);
        return CFX_OK;
    }
    if (whole > memory)
        return cfx_fail(s->err, CFX_EINVAL, "Devices do not have enough "
                        "memory for the module");
    return place_by_mode(x);
}

/* Number the parts that have calls, and list their devices. */
static cfx_status list_places(places *x)
{
    placing *s = x->s;
    layout *l = &x->l;
    uint32_t n = 0;
    uint32_t *now = cfx_carve__scratch(&s->arena, l->nparts, sizeof(*now),
                                       s->err);
    if (!now)
        return s->err->code;
    for (uint32_t p = 0; p < l->nparts; p++) {
        if (cfx_layout__is_empty(l, p))
            continue;
        bool shared = l->device[p] == SHARED;
        place *at = &x->item[n];
        now[p] = n++;
        at->number = now[p];
        at->n = shared ? s->nshared : 1;
        at->device = cfx_carve__scratch(&s->arena, at->n,
                                        sizeof(*at->device), s->err);
        if (!at->device)
            return s->err->code;
        at->device[0] = l->device[p];
        for (uint32_t i = 0; shared && i < at->n; i++)
            at->device[i] = i;
    }
    for (uint32_t c = 0; c < s->ncalls; c++)
        l->part[c] = now[l->part[c]];
    int64_t whole = l->bytes[0];
    l->nparts = n;
    cfx_layout__weigh(s, l);
    if (x->single)
        l->bytes[0] = whole;
    return CFX_OK;
}

/* ---- The public functions ---- */

static cfx_status find_places(places *x)
{
    placing *s = x->s;
    bool told = s->o.mode == CFX_AOT_BASED;
    size_t room = told ? s->o.npart_devices : 2 * (size_t)s->ncalls;
    if (room >= SHARED)
        return cfx_fail(s->err, CFX_EINVAL, "too many parts");
    x->item = cfx_carve__scratch(&s->arena, room, sizeof(*x->item), s->err);
    if (!x->item || cfx_layout__init(s, &x->l, (uint32_t)room) ||
        cfx_layout__scratch(s, (uint32_t)room))
        return s->err->code;
    if (told)
        x->l.nparts = (uint32_t)room;
    cfx_status st = told ? place_as_told(x) : place_all(x);
    if (!st && !told)
        st = list_places(x);
    if (!st && s->o.saturate_host)
        st = cfx_place__saturate(x);
    return st;
}

static cfx_status place_graph(placing *s, cfx_placement *out)
{
    places x = {.s = s};
    if (!s->g)
        return cfx_fail(s->err, CFX_EINVAL, "the module has no graph");
    cfx_status st = check_devices(s);
    if (!st)
        st = take_sizes(s);
    if (!st)
        st = find_places(&x);
    return st ? st : cfx_place__tell(&x, out);
}

cfx_status cfx_place_on_devices(cfx_placement *out, cfx_module *gm,
                                const cfx_device *devices, size_t ndevices,
                                const cfx_place_options *options,
                                cfx_error *err)
{
    cfx_error why;
    placing s = {.ctx = cfx_module_context(gm), .gm = gm, .err = &why,
                 .g = cfx_graph_module_graph(gm), .device = devices,
                 .ndevices = ndevices};
    why.code = CFX_OK;
    *out = (cfx_placement){.ctx = s.ctx};
    if (options)
        memcpy(&s.o, options,
               options->size < sizeof(s.o) ? options->size : sizeof(s.o));
    cfx_arena *memory = cfx_alloc(s.ctx, sizeof(*memory));
    if (!memory)
        return cfx_fail(err, CFX_ENOMEM, "out of memory");
    cfx_arena_init(memory, s.ctx);
    out->memory = memory;
    cfx_arena_init(&s.arena, s.ctx);
    cfx_status st = place_graph(&s, out);
    cfx_arena_release(&s.arena);
    if (st)
        cfx_placement_release(out);
    return st ? cfx_fail(err, why.code, "%s", why.text) : CFX_OK;
}

void cfx_placement_release(cfx_placement *p)
{
    if (!p || !p->ctx)
        return;
    cfx_module_unref(p->gm);
    if (p->memory)
        cfx_arena_release(p->memory);
    cfx_free(p->ctx, p->memory, sizeof(cfx_arena));
    *p = (cfx_placement){0};
}

cfx_status cfx_bytes_of_part(uint64_t *bytes, const cfx_module *gm,
                             cfx_node *const *nodes, size_t n,
                             const cfx_node_size *size, cfx_error *err)
{
    cfx_error why;
    layout l;
    placing s = {.ctx = cfx_module_context(gm), .err = &why,
                 .g = cfx_graph_module_graph(gm)};
    why.code = CFX_OK;
    if (!s.g)
        return cfx_fail(err, CFX_EINVAL, "the module has no graph");
    cfx_arena_init(&s.arena, s.ctx);
    bool *in = cfx_carve__scratch(&s.arena, cfx_graph_ids(s.g), sizeof(*in),
                                  &why);
    cfx_status st = in ? cfx_placing__init(&s, size) : why.code;
    if (!st)
        st = cfx_layout__init(&s, &l, 1);
    if (!st)
        st = cfx_layout__scratch(&s, 1);
    if (!st) {
        for (size_t i = 0; i < n; i++)
            in[nodes[i]->id] = true;
        for (uint32_t c = 0; c < s.ncalls; c++)
            l.part[c] = in[s.node[c]->id] ? 0 : NOWHERE;
        cfx_layout__weigh(&s, &l);
        *bytes = (uint64_t)l.bytes[0];
    }
    cfx_arena_release(&s.arena);
    return st ? cfx_fail(err, why.code, "%s", why.text) : CFX_OK;
}
