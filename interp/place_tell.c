/*
 * place_tell -- a graph is split by the parts that were found, and these are
 * told as a graph of parts.
 */
#include "interp/placing.h"

#include <inttypes.h>
#include <stdlib.h>

#include <cfx/split.h>

static void *keep(cfx_placement *out, size_t n, size_t size, cfx_error *err)
{
    return cfx_carve__scratch(out->memory, n, size, err);
}

/* Parts on the same devices get the same number for a device. */
static cfx_status number_places(places *x)
{
    placing *s = x->s;
    cfx_map seen;
    cfx_status st = CFX_OK;
    cfx_map_init(&seen, s->ctx);
    for (uint32_t p = 0; p < x->l.nparts && !st; p++) {
        const place *at = &x->item[p];
        bool added;
        x->l.device[p] = NOWHERE;
        if (!at->n)
            continue;
        cfx_map_entry *e = cfx_map_put(&seen, (const char *)at->device,
                                       at->n * sizeof(*at->device), &added);
        if (!e)
            st = cfx_fail(s->err, CFX_ENOMEM, "out of memory");
        else if (added)
            e->v.u = p;
        if (e)
            x->l.device[p] = (uint32_t)e->v.u;
    }
    cfx_map_release(&seen);
    return st;
}

static cfx_status find_latencies(places *x, cfx_placement *out)
{
    placing *s = x->s;
    cfx_status st = s->time ? number_places(x) : CFX_OK;
    if (s->time && !st && cfx_layout__connect(s, &x->l) &&
        s->o.transfer_rate > 0)
        out->latency = cfx_layout__latency(s, &x->l);
    return st;
}

static cfx_status tell_part(places *x, cfx_placement *out, uint32_t p)
{
    placing *s = x->s;
    cfx_placed *to = &out->item[out->n];
    const place *at = &x->item[p];
    const layout *l = &x->l;
    *to = (cfx_placed){
        .part = at->number,
        .n = l->start[p + 1] - l->start[p],
        .ndevices = at->n,
        .bytes = (uint64_t)l->bytes[p],
        .latency = l->latency[p],
    };
    to->node = keep(out, to->n, sizeof(*to->node), s->err);
    to->device = keep(out, to->ndevices, sizeof(*to->device), s->err);
    if (!to->node || !to->device)
        return s->err->code;
    for (size_t i = 0; i < to->n; i++)
        to->node[i] = s->node[l->call[l->start[p] + i]];
    for (size_t i = 0; i < to->ndevices; i++)
        to->device[i] = s->device[at->device[i]].id;
    return CFX_OK;
}

static bool takes_apart(const cfx_node *user, const cfx_node *call)
{
    return user->op == CFX_CALL_FUNCTION &&
           !strcmp(user->target.u.str->text, "operator.getitem") &&
           cfx_node_input(user, 0) == call;
}

static cfx_status tell_call(places *x, cfx_placement *out, cfx_node *call)
{
    cfx_placed *to = &out->item[out->n];
    to->call = call;
    to->ninputs = call->ninputs;
    to->input = keep(out, call->ninputs, sizeof(*to->input), x->s->err);
    to->output = keep(out, call->nusers + (size_t)1, sizeof(*to->output),
                      x->s->err);
    if (!to->input || !to->output)
        return x->s->err->code;
    for (uint32_t i = 0; i < call->ninputs; i++)
        to->input[i] = cfx_node_input(call, i);
    for (const cfx_use *u = call->first_user; u; u = u->next)
        if (takes_apart(u->user, call))
            to->output[to->noutputs++] = u->user;
    if (!to->noutputs)
        to->output[to->noutputs++] = call;
    return CFX_OK;
}

static int64_t part_of(void *user, const cfx_node *n)
{
    return ((const places *)user)->part_of[n->id];
}

static cfx_status split(places *x, cfx_placement *out)
{
    placing *s = x->s;
    x->part_of = cfx_carve__scratch(&s->arena, cfx_graph_ids(s->g),
                                    sizeof(*x->part_of), s->err);
    if (!x->part_of)
        return s->err->code;
    for (uint32_t c = 0; c < s->ncalls; c++)
        x->part_of[s->node[c]->id] = x->item[x->l.part[c]].number;
    return cfx_split_module(&out->gm, s->gm, part_of, x, NULL, s->err);
}

cfx_status cfx_place__tell(places *x, cfx_placement *out)
{
    placing *s = x->s;
    cfx_status st = find_latencies(x, out);
    if (!st)
        st = split(x, out);
    if (st)
        return st;
    out->item = keep(out, x->l.nparts, sizeof(*out->item), s->err);
    if (!out->item)
        return s->err->code;
    const cfx_graph *g = cfx_graph_module_graph(out->gm);
    for (cfx_node *n = cfx_graph_first(g); n && !st; n = cfx_node_next(n)) {
        if (n->op != CFX_CALL_MODULE)
            continue;
        const char *number = n->target.u.str->text + strlen("submod_");
        place key = {.number = strtoll(number, NULL, 10)};
        const place *at = bsearch(&key, x->item, x->l.nparts,
                                  sizeof(*x->item), cfx_place__by_number);
        assert(at);
        st = tell_part(x, out, (uint32_t)(at - x->item));
        if (!st)
            st = tell_call(x, out, n);
        out->n++;
    }
    return st;
}

/* ---- Text ---- */

static void print_nodes(cfx_buf *b, cfx_node *const *node, size_t n)
{
    cfx_buf_putc(b, '(');
    for (size_t i = 0; i < n; i++)
        cfx_buf_printf(b, "%s%s", i ? ", " : "", node[i]->name);
    cfx_buf_putc(b, ')');
}

cfx_status cfx_print_placement(cfx_sink to, const cfx_placement *p,
                               cfx_error *err)
{
    cfx_buf b;
    cfx_buf_init(&b, p->ctx);
    for (size_t i = 0; i < p->n; i++) {
        const cfx_placed *at = &p->item[i];
        cfx_buf_printf(&b, "%s: devices [", at->call->name);
        for (size_t k = 0; k < at->ndevices; k++)
            cfx_buf_printf(&b, "%s%" PRId64, k ? ", " : "", at->device[k]);
        cfx_buf_printf(&b, "], %" PRIu64 " bytes, ", at->bytes);
        print_nodes(&b, at->input, at->ninputs);
        cfx_buf_puts(&b, " -> ");
        print_nodes(&b, at->output, at->noutputs);
        cfx_buf_putc(&b, '\n');
    }
    cfx_status st = b.failed ? cfx_fail(err, CFX_ENOMEM, "out of memory")
                             : CFX_OK;
    if (!st) {
        st = to.write(to.user, cfx_buf_str(&b), b.len);
        if (st)
            cfx_fail(err, st, "cannot write");
    }
    cfx_buf_release(&b);
    return st;
}
