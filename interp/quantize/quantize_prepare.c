/*
 * quantize_prepare -- call observers on the values that a quantizer marks.
 *
 * Each value (a node's result) has at most one specification: that of its node,
 * or else of the first user that asks for one. Values that share scale and zero
 * point are in one set (union-find by node id), whose members call one
 * observer.
 */
#include <cfx/interp.h>
#include <cfx/quantize.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "graph/aliases.h"
#include "interp/rewrite/affine.h"
#include "interp/passes/pass_impl.h"
#include "interp/quantize/quantize_impl.h"

typedef struct value {
    bool is_float;                 /* it is a float32 tensor */
    bool is_huge;                  /* with elements that no scale serves */
    bool is_parameter;             /* of rank 2 or more */
    bool own;                      /* the node itself asks: all users see it */
    bool reads_float, gives_float; /* its node keeps others in float */
    cfx_quant_mark mark;           /* of the node */
    const cfx_quant_spec *spec;    /* NULL: it stays float */
    uint32_t set;                  /* the id of another member, or its own */
    int64_t observer;              /* of a set: its number; -1: none yet */
} value;

typedef struct preparing {
    cfx_pass_call pass;
    cfx_module *gm;
    cfx_graph *graph;
    cfx_context *ctx;
    cfx_quantizer *q;
    cfx_quant_report *report;
    value *value; /* by node id */
    uint32_t ids;
    int64_t nobservers;
    cfx_aliases aliases;
    cfx_error *err;
} preparing;

static value *value_of(const preparing *p, const cfx_node *n)
{
    return &p->value[n->id];
}

/* ---- Types of values, by a run ---- */

/* Does a tensor have elements beyond 1e30? Masks add -inf, or the least number,
 * to scores; a scale for these leaves 0 of all others. */
static bool is_huge(const cfx_tensor *t)
{
    int64_t index[CFX_MAX_RANK] = {0};
    for (int64_t i = 0, n = cfx_tensor_numel(t); i < n; i++) {
        if (fabsf(*(const float *)cfx_tensor_at(t, index)) > 1e30F)
            return true;
        cfx_quantize__advance(t, index);
    }
    return false;
}

static void note_value(value *v, cfx_value x)
{
    v->is_float = x.kind == CFX_TENSOR && x.u.tensor->dtype == CFX_F32;
    v->is_huge = v->is_float && is_huge(x.u.tensor);
}

static cfx_status run_once(preparing *p, const cfx_value *inputs, size_t n)
{
    cfx_interp it = {0};
    const cfx_node *node = NULL;
    cfx_value v, result = CFX_NOTHING;
    cfx_status st = cfx_interp_init(&it, &cfx_interp_base, p->gm, p->err);
    if (st)
        return st;
    st = cfx_interp_begin(&it, inputs, n, p->err);
    while (!st && !(st = cfx_interp_step(&it, &node, &v, p->err)) && node)
        note_value(value_of(p, node), v);
    cfx_interp_end(&it, &result);
    cfx_value_unref(result);
    cfx_interp_release(&it);
    return st;
}

/* Without inputs, calls count as float32 tensors. */
static cfx_status find_types(preparing *p, const cfx_value *inputs, size_t n)
{
    if (inputs)
        return run_once(p, inputs, n);
    for (cfx_node *x = cfx_graph_first(p->graph); x; x = cfx_node_next(x)) {
        const cfx_tensor *t = cfx_quantize__parameter(p->gm, x);
        value_of(p, x)->is_float = x->op == CFX_GET_ATTR
                                       ? t && t->dtype == CFX_F32
                                       : x->op != CFX_OUTPUT;
    }
    return CFX_OK;
}

/* ---- Marks ---- */

static bool is_marked(const cfx_quant_mark *m)
{
    return m->input || m->weight || m->output || m->passes || m->shares;
}

static cfx_status add_float(preparing *p, const cfx_node *n,
                            const char *reason)
{
    const cfx_quant_row row = {.kind = CFX_QUANT_FLOAT, .reason = reason};
    value_of(p, n)->mark.reason = reason;
    return cfx_quant_report__add(p->report, p->ctx, &row, n->name, p->err);
}

/* Groups divide the channels of weights that are matrices. */
static bool has_groups(const preparing *p, const cfx_node *n)
{
    const cfx_quant_spec *spec = value_of(p, n)->mark.weight;
    for (uint32_t i = 0; spec && spec->group && i < n->ninputs; i++) {
        const cfx_node *input = cfx_node_input(n, i);
        const cfx_tensor *t = value_of(p, input)->is_parameter
                                  ? cfx_quantize__parameter(p->gm, input)
                                  : NULL;
        if (t &&
            (t->rank != 2 || cfx_tensor_size(t, 1 - spec->axis) % spec->group))
            return false;
    }
    return true;
}

static cfx_status annotate(preparing *p, const cfx_node *n)
{
    value *v = value_of(p, n);
    const cfx_tensor *t = cfx_quantize__parameter(p->gm, n);
    bool calls = n->op == CFX_CALL_FUNCTION || n->op == CFX_CALL_METHOD;
    v->set = n->id;
    v->observer = -1;
    /* A quantized copy would miss what is written later. */
    bool is_written = v->is_float && cfx_aliases__is_written(&p->aliases, n);
    v->is_float = v->is_float && !is_written;
    v->is_parameter = t && t->rank >= 2 && !is_written;
    if (n->op == CFX_CALL_MODULE)
        v->mark.reason = "it is a module that stays whole";
    else if (is_written && n->op == CFX_PLACEHOLDER)
        v->mark.reason = "it is written to in place";
    if (!calls)
        return CFX_OK;
    if (is_written)
        v->mark.reason = "its result is written to in place";
    else if (!v->is_float)
        v->mark.reason = "its result is not a float32 tensor";
    else if (v->is_huge)
        v->mark.reason = "its elements go beyond 1e30, as with a mask";
    v->is_float = v->is_float && !v->is_huge;
    if (!v->is_float)
        return CFX_OK;
    p->q->err = p->err;
    cfx_status st = cfx_quantizer_class_with(
                        p->q->cls, offsetof(cfx_quantizer_class, annotate))
                        ->annotate(p->q, n, &v->mark);
    if (!st && !has_groups(p, n))
        v->mark = (cfx_quant_mark){
            .reason = "the channels of its weight are no multiple of groups"};
    return st;
}

/* ---- Results that stay float with their users ---- */

static void keep_float(value *v, const char *reason)
{
    v->mark = (cfx_quant_mark){.reason = reason};
    v->reads_float = true;
}

/* A fused node stays float with the rest of its pattern. */
static void follow_pattern(const preparing *p, const cfx_node *n)
{
    cfx_quant_mark *m = &value_of(p, n)->mark;
    const cfx_quant_mark *first =
        n->ninputs ? &value_of(p, cfx_node_input(n, 0))->mark : m;
    if (m->fused && !is_marked(first))
        *m = (cfx_quant_mark){.reason = first->reason};
}

/* Decide about a node after those that it reads. */
static void follow_inputs(const preparing *p, const cfx_node *n)
{
    value *v = value_of(p, n);
    const cfx_quant_mark *m = &v->mark;
    bool any = false;
    for (uint32_t i = 0; i < n->ninputs; i++)
        any = any || value_of(p, cfx_node_input(n, i))->gives_float;
    follow_pattern(p, n);
    v->reads_float = m->reads_float;
    v->gives_float = m->gives_float || (any && (m->passes || m->pointwise));
    if (any && m->pointwise)
        keep_float(v, "it reads a result that stays float");
}

/* Decide about a node after its users. */
static void follow_users(const preparing *p, const cfx_node *n)
{
    value *v = value_of(p, n);
    cfx_quant_mark *m = &v->mark;
    bool any = false, all = true;
    for (const cfx_use *u = n->first_user; u; u = u->next) {
        bool reads_float = value_of(p, u->user)->reads_float;
        any = any || reads_float;
        all = all && reads_float;
    }
    if (!any || !is_marked(m) || m->fused)
        return;
    if (m->is_sum || (all && (m->pointwise || m->passes || m->shares)))
        keep_float(v, "a node that stays float reads it");
    else if (all && m->input)
        m->output = NULL;
}

static cfx_status report_float(preparing *p)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(p->graph); n && !st;
         n = cfx_node_next(n)) {
        const cfx_quant_mark *m = &value_of(p, n)->mark;
        if (m->reason && !is_marked(m))
            st = add_float(p, n, m->reason);
    }
    return st;
}

/* ---- Specifications of values ---- */

static uint32_t find_set(const preparing *p, uint32_t id)
{
    while (p->value[id].set != id) {
        p->value[id].set = p->value[p->value[id].set].set;
        id = p->value[id].set;
    }
    return id;
}

static void join_sets(const preparing *p, const cfx_node *a, const cfx_node *b)
{
    p->value[find_set(p, b->id)].set = find_set(p, a->id);
}

/* The annotation of a node's input; NULL: it has none. */
static const cfx_quant_spec *asked(const preparing *p, const cfx_node *n,
                                   const cfx_node *input)
{
    const value *v = value_of(p, input);
    const cfx_quant_mark *m = &value_of(p, n)->mark;
    if (!v->is_float || v->is_huge ||
        (input->op == CFX_GET_ATTR && !v->is_parameter))
        return NULL;
    return v->is_parameter ? m->weight : m->input;
}

static void ask_inputs(const preparing *p, const cfx_node *n)
{
    for (uint32_t i = 0; i < n->ninputs; i++) {
        const cfx_node *input = cfx_node_input(n, i);
        value *v = value_of(p, input);
        const cfx_quant_spec *spec = asked(p, n, input);
        if (spec && !v->spec)
            v->spec = spec;
    }
}

/* A weight may not be in a set: its scales are by channel. */
static void share(const preparing *p, const cfx_node *n)
{
    value *v = value_of(p, n);
    if (v->mark.passes && n->ninputs) {
        const value *x = value_of(p, cfx_node_input(n, 0));
        if (x->spec && !x->spec->by_channel && v->is_float) {
            v->spec = x->spec;
            v->own = true;
            join_sets(p, cfx_node_input(n, 0), n);
        }
    }
    for (uint32_t i = 0; v->mark.shares && i < n->ninputs; i++)
        if (value_of(p, cfx_node_input(n, i))->spec == v->spec)
            join_sets(p, n, cfx_node_input(n, i));
}

static cfx_status mark_all(preparing *p)
{
    cfx_status st = CFX_OK;
    cfx_node *n;
    for (n = cfx_graph_first(p->graph); n && !st; n = cfx_node_next(n))
        st = annotate(p, n);
    for (n = cfx_graph_first(p->graph); n && !st; n = cfx_node_next(n))
        follow_inputs(p, n);
    for (n = cfx_graph_last(p->graph); n && !st; n = cfx_node_prev(n))
        follow_users(p, n);
    if (!st)
        st = report_float(p);
    if (st)
        return st;
    for (n = cfx_graph_first(p->graph); n; n = cfx_node_next(n)) {
        value *v = value_of(p, n);
        v->own = v->mark.output != NULL;
        v->spec = v->mark.output;
    }
    for (n = cfx_graph_first(p->graph); n; n = cfx_node_next(n))
        ask_inputs(p, n);
    for (n = cfx_graph_first(p->graph); n && !st; n = cfx_node_next(n)) {
        share(p, n);
        if (value_of(p, n)->mark.passes && !value_of(p, n)->spec)
            st = add_float(p, n, "its input is not quantized");
    }
    return st;
}

/* ---- Observers ---- */

/* The arguments of the constructor that observers of a type have. */
static cfx_args observer_args(cfx_scope *s, const cfx_quant_spec *spec,
                              cfx_value kwargs[])
{
    static const char *const scheme[2][2] = {
        {"per_tensor_affine", "per_tensor_symmetric"},
        {"per_channel_affine", "per_channel_symmetric"}};
    const struct {
        const char *name;
        cfx_value v;
        bool given;
    } args[] = {
        {"dtype", cfx_value_of_dtype(spec->dtype), true},
        {"qscheme",
         cfx_str(s, spec->by_token
                        ? "per_token_affine"
                        : scheme[spec->by_channel][spec->symmetric]),
         true},
        {"quant_min", cfx_int(spec->least), true},
        {"quant_max", cfx_int(spec->most), true},
        {"ch_axis", cfx_int(spec->axis), spec->by_channel},
        {"group_size", cfx_int(spec->group), spec->group != 0},
        {"is_dynamic", cfx_bool(true), spec->dynamic},
        {"scale", cfx_float(spec->scale), spec->scale != 0},
        {"zero_point", cfx_int(spec->zero_point), spec->scale != 0},
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof(args) / sizeof(*args); i++) {
        if (!args[i].given)
            continue;
        kwargs[2 * n] = cfx_str(s, args[i].name);
        kwargs[2 * n++ + 1] = args[i].v;
    }
    return (cfx_args){NULL, 0, kwargs, n};
}

static cfx_status new_observer(preparing *p, const cfx_quant_spec *spec,
                               const char *path)
{
    cfx_scope s;
    cfx_module *m = NULL;
    cfx_value kwargs[18];
    const cfx_module_type *type = cfx_find_module_type(p->ctx, spec->observer);
    if (!type)
        return cfx_fail(p->err, CFX_ENAME, "the module type %s is unknown",
                        spec->observer);
    cfx_scope_init(&s, &cfx_eager_class, p->ctx, NULL);
    const cfx_args args = observer_args(&s, spec, kwargs);
    cfx_status st = cfx_scope_status(&s, p->err);
    if (!st)
        st = cfx_module_new(&m, p->ctx, type, NULL, args, p->err);
    cfx_scope_release(&s);
    return st ? st : cfx_module_add_submodule_take(p->gm, path, m, p->err);
}

static void name_observer(int64_t number, char *name, size_t size)
{
    snprintf(name, size, "activation_post_process_%lld", (long long)number);
}

/* The next number whose name is free in the module. */
static int64_t next_number(preparing *p)
{
    char name[64];
    do
        name_observer(p->nobservers++, name, sizeof(name));
    while (cfx_module_child(p->gm, name) || cfx_module_state(p->gm, name));
    return p->nobservers - 1;
}

/* Users that see the observed value; those that did not ask see the value
 * itself, unless its own node asked. */
struct keeping {
    const preparing *p;
    const cfx_node *from, *observer;
};

static bool keep_user(void *data, cfx_node *user)
{
    const struct keeping *k = data;
    const value *v = value_of(k->p, k->from);
    if (user == k->observer)
        return false;
    if (v->own)
        return true;
    return user->id < k->p->ids && asked(k->p, user, k->from) == v->spec;
}

static cfx_status observe(preparing *p, cfx_node *n)
{
    value *v = value_of(p, n), *set = &p->value[find_set(p, n->id)];
    char name[64], path[64];
    int64_t number = next_number(p);
    name_observer(number, name, sizeof(name));
    cfx_status st = CFX_OK;
    if (set->observer < 0) {
        set->observer = number;
        st = new_observer(p, v->spec, name);
    }
    name_observer(set->observer, path, sizeof(path));
    if (st)
        return st;
    cfx_insert_point at = cfx_graph_inserting_after(p->graph, n);
    cfx_node *call = cfx_graph_create_node(p->graph, CFX_CALL_MODULE, path,
                                           CFX_ARGS(cfx_value_of_node(n)),
                                           name, NULL, p->err);
    cfx_graph_restore(p->graph, at);
    if (!call)
        return p->err->code;
    struct keeping keeping = {p, n, call};
    st = cfx_node_inherit(call, n, p->err);
    return st ? st
              : cfx_node_replace_all_uses_with(n, call, keep_user, &keeping,
                                               p->err);
}

static cfx_status observe_all(preparing *p)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(p->graph), *next; n && !st; n = next) {
        next = cfx_node_next(n);
        if (value_of(p, n)->spec && n->op != CFX_OUTPUT)
            st = observe(p, n);
    }
    return st;
}

cfx_status cfx_quantize_prepare(cfx_module *gm, cfx_quantizer *q,
                                const cfx_value *inputs, size_t ninputs,
                                cfx_quant_report *report, cfx_error *err)
{
    cfx_error own = {.code = CFX_OK};
    preparing p = {.gm = gm,
                   .ctx = cfx_module_context(gm),
                   .q = q,
                   .report = report,
                   .err = err ? err : &own};
    if (!cfx_graph_module_graph(gm))
        return cfx_fail(p.err, CFX_EINVAL, "%s has no graph",
                        cfx_module_class_name(gm));
    cfx_status st = cfx_quantize__lower(gm, inputs, ninputs, p.err);
    if (st)
        return st;
    st = cfx_pass__begin(&p.pass, gm, &own, err);
    if (st)
        return st;
    p.graph = p.pass.graph;
    p.ids = cfx_graph_ids(p.graph);
    p.value = cfx_calloc(p.ctx, p.ids, sizeof(*p.value));
    if (!p.value)
        return cfx_no_memory(p.err);
    st = cfx_pass__aliases(&p.aliases, &p.pass);
    if (!st)
        st = find_types(&p, inputs, ninputs);
    if (!st)
        st = mark_all(&p);
    if (!st)
        st = observe_all(&p);
    cfx_aliases__release(&p.aliases);
    cfx_free(p.ctx, p.value, p.ids * sizeof(*p.value));
    return st;
}
