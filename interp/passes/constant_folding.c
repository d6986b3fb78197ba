/*
 * constant_folding -- compute nodes that do not depend on the inputs.
 *
 * A forward walk marks constant nodes and computes them; a value is kept while
 * later nodes need it. A backward walk decides the fate of each: it is erased
 * if it has no users left, becomes a buffer or a literal if possible, and
 * otherwise stays.
 */
#include <cfx/fold_constants.h>
#include <cfx/pass.h>
#include <cfx/scope.h>

#include <string.h>

#include "graph/aliases.h"
#include "interp/passes/constants.h"
#include "interp/passes/pass_impl.h"
#include "interp/rewrite/retrace.h"
#include "interp/rewrite/rewrite_rules.h"

typedef struct folder {
    cfx_pass_call *p;
    const cfx_fold_options *o;
    cfx_aliases aliases;
    cfx_constants known;
    bool *constant;    /* by node id */
    uint32_t *waiting; /* by node id: constant users still to compute */
    bool *open;        /* by alias set: the graph writes to it as it runs */
    uint32_t *written; /* by alias set: the place of the last write, or 0 */
} folder;

static cfx_status folder_init(folder *f, cfx_pass_call *p,
                              const cfx_fold_options *o)
{
    size_t n = (size_t)cfx_graph_ids(p->graph) + 1;
    f->p = p;
    f->o = o;
    cfx_constants__init(&f->known, p);
    cfx_status st = cfx_aliases__init(&f->aliases, p->graph, p->err);
    if (st)
        return st;
    f->constant = cfx_calloc(p->ctx, n, sizeof(*f->constant));
    f->waiting = cfx_calloc(p->ctx, n, sizeof(*f->waiting));
    n = cfx_aliases__len(&f->aliases);
    f->open = cfx_calloc(p->ctx, n, sizeof(*f->open));
    f->written = cfx_calloc(p->ctx, n, sizeof(*f->written));
    return f->constant && f->waiting && f->open && f->written
               ? CFX_OK
               : cfx_no_memory(p->err);
}

static void folder_release(folder *f, size_t ids)
{
    cfx_free(f->p->ctx, f->constant, (ids + 1) * sizeof(*f->constant));
    cfx_free(f->p->ctx, f->waiting, (ids + 1) * sizeof(*f->waiting));
    ids = cfx_aliases__len(&f->aliases);
    cfx_free(f->p->ctx, f->open, ids * sizeof(*f->open));
    cfx_free(f->p->ctx, f->written, ids * sizeof(*f->written));
    cfx_constants__release(&f->known);
    cfx_aliases__release(&f->aliases);
}

/* ---- Finding constants ---- */

/* Modules and graphs as values are not folded. */
static bool is_tensor_attr(const folder *f, const cfx_node *n)
{
    cfx_value v;
    return !cfx_module_fetch_attr(&v, f->p->gm, n->target->text, NULL) &&
           v.kind == CFX_TENSOR;
}

/* ---- Memory that is written before it is read ---- */

/* A mask is often made by writing constants to parts of a tensor that the graph makes. Such
 * memory is constant if all that write to it, or see a part of it, are, and others read it
 * after the last write: they see its last contents, which folding keeps. */

/* The last bit of a mask stands for all further inputs. */
static bool writes_to(const cfx_effects *e, uint32_t input)
{
    return e->input_writes >> (input < 31 ? input : 31) & 1;
}

static uint32_t set_of(folder *f, const cfx_node *n)
{
    return cfx_aliases__set(&f->aliases, n);
}

/* Find the last write to each set. Open the sets that are read before it, and those that
 * the caller or the state can see. */
static void find_writes(folder *f)
{
    const uint32_t *place = f->aliases.life.place;
    for (cfx_node *n = cfx_graph_first(f->p->graph); n; n = cfx_node_next(n))
        for (uint32_t i = 0; i < n->ninputs; i++)
            if (writes_to(cfx_aliases__effects(&f->aliases, n), i))
                f->written[set_of(f, cfx_node_input(n, i))] = place[n->id];
    for (cfx_node *n = cfx_graph_first(f->p->graph); n; n = cfx_node_next(n)) {
        const cfx_effects *e = cfx_aliases__effects(&f->aliases, n);
        for (uint32_t i = 0; i < n->ninputs; i++) {
            uint32_t set = set_of(f, cfx_node_input(n, i));
            bool within = set == set_of(f, n) || writes_to(e, i);
            f->open[set] |= place[n->id] < f->written[set] && !within;
        }
    }
    for (size_t set = 0; set < cfx_aliases__len(&f->aliases); set++)
        f->open[set] |= f->o->max_bytes > 0 ||
                        cfx_aliases__is(&f->aliases, (uint32_t)set,
                                        CFX_ALIAS_RETURNED |
                                            CFX_ALIAS_OUTLIVES);
}

/* Are all sets that n writes to, and the one it is in, closed? */
static bool is_closed(folder *f, const cfx_node *n, const cfx_effects *e)
{
    bool closed = !cfx_aliases__is_written(&f->aliases, n) ||
                  !f->open[set_of(f, n)];
    for (uint32_t i = 0; closed && i < n->ninputs; i++)
        closed = !writes_to(e, i) || !f->open[set_of(f, cfx_node_input(n, i))];
    return closed;
}

/* Open the sets of nodes that are not constant, and the sets that they write to. True: some
 * were not open before. */
static bool open_sets(folder *f)
{
    bool opened = false;
    for (cfx_node *n = cfx_graph_first(f->p->graph); n; n = cfx_node_next(n)) {
        const cfx_effects *e = cfx_aliases__effects(&f->aliases, n);
        if (f->constant[n->id])
            continue;
        opened |= f->written[set_of(f, n)] && !f->open[set_of(f, n)];
        f->open[set_of(f, n)] = true;
        for (uint32_t i = 0; i < n->ninputs; i++) {
            bool *open = &f->open[set_of(f, cfx_node_input(n, i))];
            opened |= writes_to(e, i) && !*open;
            *open |= writes_to(e, i);
        }
    }
    return opened;
}

static bool is_constant(folder *f, const cfx_node *n)
{
    const cfx_effects *e = cfx_aliases__effects(&f->aliases, n);
    if (n->op == CFX_PLACEHOLDER || n->op == CFX_OUTPUT || e->random ||
        e->effect || e->state_writes || !is_closed(f, n, e) ||
        !cfx_constants__is_known(&f->known, n) ||
        (!f->o->quantized && cfx_node__has_flag(n, CFX_OP_DEQUANTIZES)) ||
        (f->o->skip && f->o->skip(f->o->user, n)))
        return false;
    if (n->op == CFX_GET_ATTR)
        return is_tensor_attr(f, n);
    for (uint32_t i = 0; i < n->ninputs; i++)
        if (!f->constant[cfx_node_input(n, i)->id])
            return false;
    return true;
}

static void find_constants(folder *f)
{
    find_writes(f);
    do
        for (cfx_node *n = cfx_graph_first(f->p->graph); n;
             n = cfx_node_next(n))
            f->constant[n->id] = is_constant(f, n);
    while (open_sets(f));
    for (cfx_node *n = cfx_graph_first(f->p->graph); n; n = cfx_node_next(n))
        for (uint32_t i = 0; f->constant[n->id] && i < n->ninputs; i++)
            f->waiting[cfx_node_input(n, i)->id]++;
}

static bool has_other_users(const folder *f, const cfx_node *n)
{
    for (const cfx_use *u = n->first_user; u; u = u->next)
        if (!f->constant[u->user->id])
            return true;
    return false;
}

/* ---- Computing ---- */

/* Drop values without further users. */
static void drop_inputs(folder *f, const cfx_node *n)
{
    for (uint32_t i = 0; i < n->ninputs; i++) {
        const cfx_node *in = cfx_node_input(n, i);
        if (!--f->waiting[in->id] && in->op != CFX_GET_ATTR &&
            !has_other_users(f, in))
            cfx_node_map_set(&f->known.value, in, CFX_NOTHING, NULL);
    }
}

static cfx_status compute_all(folder *f)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(f->p->graph); n && !st;
         n = cfx_node_next(n)) {
        if (!f->constant[n->id] || n->op == CFX_GET_ATTR)
            continue;
        st = cfx_context_check(f->p->ctx, f->p->err);
        if (!st)
            st = cfx_constants__compute(&f->known, n);
        if (!st)
            drop_inputs(f, n);
    }
    return st;
}

/* ---- Rewriting ---- */

static bool has_state(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_TENSOR || v.kind == CFX_MODULE;
}

static bool is_literal(cfx_value v)
{
    return v.kind && !cfx_value_any(v, has_state, NULL);
}

static bool is_too_large(const folder *f, const cfx_tensor *t)
{
    int64_t size = (int64_t)cfx_dtype_size((cfx_dtype)t->dtype);
    return f->o->max_bytes > 0 && cfx_tensor_numel(t) > f->o->max_bytes / size;
}

static cfx_status put_tensor(folder *f, cfx_node *n, cfx_tensor *t)
{
    cfx_pass_call *p = f->p;
    const char *prefix = f->o->prefix ? f->o->prefix : "_folded_";
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, n);
    cfx_node *attr = cfx_pass_add_tensor(p, prefix, t);
    cfx_graph_restore(p->graph, at);
    if (!attr)
        return p->err->code;
    p->changed++;
    cfx_status st = cfx_node__keep_meta(attr, n, p->err);
    return st ? st
              : cfx_node_replace_all_uses_with(n, attr, NULL, NULL, p->err);
}

static cfx_status erase(folder *f, cfx_node *n)
{
    cfx_status st = cfx_graph_erase_node(f->p->graph, n, f->p->err);
    f->p->changed += !st;
    return st;
}

/* Called backwards, so that a node's users are handled before it. */
static cfx_status rewrite_node(folder *f, cfx_node *n)
{
    cfx_value v = cfx_node_map_get(&f->known.value, n);
    cfx_status st = CFX_OK;
    if (n->op != CFX_GET_ATTR && n->nusers) {
        if (v.kind == CFX_TENSOR && !is_too_large(f, v.u.tensor))
            st = put_tensor(f, n, v.u.tensor);
        else if (is_literal(v))
            st = cfx_node__substitute(f->p, n, v);
    }
    return st || n->nusers ? st : erase(f, n);
}

/* A get_attr node that had no users before stays. */
static cfx_status rewrite_all(folder *f)
{
    cfx_node *before;
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_last(f->p->graph); n && !st; n = before) {
        before = cfx_node_prev(n);
        if (!cfx_aliases__is_later(&f->aliases, n) && f->constant[n->id] &&
            (n->op != CFX_GET_ATTR || f->p->changed))
            st = rewrite_node(f, n);
    }
    return st;
}

/* ---- Tensors of a known type ---- */

/* x.new_zeros(size) depends on the dtype of x alone: where that is known, on nothing. */
static bool is_new_of_known(const cfx_node *n, cfx_value *size,
                            cfx_dtype *type)
{
    const cfx_schema *schema = cfx_node_is(n, "new_zeros")
                                   ? cfx_pass__signature(n)
                                   : NULL;
    const cfx_node *x = cfx_node__arg(n, 0);
    const cfx_tensor *t = schema && x ? cfx_node__known_tensor(x) : NULL;
    if (!t)
        return false;
    cfx_value dtype = cfx_pass__arg(n, schema, "dtype");
    *size = cfx_pass__arg(n, schema, "size");
    *type = dtype.kind == CFX_DTYPE ? dtype.u.dtype : (cfx_dtype)t->dtype;
    bool known = cfx_value_is_seq(*size);
    for (uint32_t i = 0; known && i < size->u.seq->len; i++)
        known = size->u.seq->item[i].kind == CFX_INT;
    return known;
}

/* Call torch.zeros in place of n. */
static cfx_status put_zeros(cfx_pass_call *p, cfx_node *n, cfx_value size,
                            cfx_dtype type)
{
    cfx_value dtype[] = {cfx_str_new(p->ctx, "dtype", 5),
                         cfx_value_of_dtype(type)};
    cfx_insert_point at = cfx_graph_inserting_before(p->graph, n);
    cfx_node *zeros = dtype[0].kind
                          ? cfx_graph_call_function(
                                p->graph, "torch.zeros",
                                (cfx_args){&size, 1, dtype, 1}, p->err)
                          : NULL;
    cfx_graph_restore(p->graph, at);
    if (!dtype[0].kind)
        return cfx_no_memory(p->err);
    cfx_value_unref(dtype[0]);
    cfx_status st = zeros ? cfx_node__keep_meta(zeros, n, p->err)
                          : p->err->code;
    return st ? st : cfx_pass__replace(p, n, zeros);
}

static cfx_status make_zeros(cfx_pass_call *p, const cfx_fold_options *o)
{
    cfx_status st = CFX_OK;
    cfx_node *next;
    for (cfx_node *n = cfx_graph_first(p->graph); n && !st; n = next) {
        cfx_value size;
        cfx_dtype type;
        next = cfx_node_next(n);
        if (!(o->skip && o->skip(o->user, n)) &&
            is_new_of_known(n, &size, &type))
            st = put_zeros(p, n, size, type);
    }
    return st;
}

static cfx_status fold(cfx_pass_call *p, const cfx_fold_options *o)
{
    folder f = {.p = p};
    cfx_status st = make_zeros(p, o);
    size_t ids = cfx_graph_ids(p->graph);
    if (!st)
        st = folder_init(&f, p, o);
    if (!st) {
        find_constants(&f);
        st = compute_all(&f);
    }
    if (!st)
        st = rewrite_all(&f);
    folder_release(&f, ids);
    return st;
}

cfx_status cfx_fold_constants(cfx_module *gm, const cfx_fold_options *options,
                              size_t *changed, cfx_error *err)
{
    static const cfx_fold_options none = {.size = sizeof(none)};
    cfx_error own = {0};
    cfx_pass_call p;
    cfx_status st = cfx_pass__begin(&p, gm, &own, err);
    if (st)
        return st;
    st = fold(&p, options ? options : &none);
    if (changed)
        *changed = p.changed;
    return st;
}

/* ---- The pass ---- */

static cfx_status constant_folding_run(cfx_pass_call *p)
{
    cfx_value skip = p->in[0];
    const cfx_fold_options o = {
        .size = sizeof(o),
        .skip = skip.u.seq->len ? cfx_pass__lists_node : NULL,
        .user = &skip,
        .max_bytes = p->in[1].kind == CFX_INT ? p->in[1].u.i : 0,
        .quantized = p->in[2].u.i,
    };
    return fold(p, &o);
}

const cfx_pass cfx_pass__constant_folding = {
    .abi = CFX_ABI(cfx_pass),
    .schema =
        "constant_folding(str[] skip=[], int? max_bytes=None, bool quantized=False)",
    .doc =
        "Compute nodes that do not depend on the inputs, into buffers, but keep quantized weights as integers; skip: names and targets of nodes to keep; max_bytes: keep nodes with larger results; quantized: make floats of quantized weights, too.",
    .flags = CFX_PASS_WEIGHTS,
    .run = constant_folding_run,
};
