/*
 * onnx_write -- a graph of calls as an ONNX model.
 *
 * Types and shapes come from the nodes' meta. Nodes whose value is not a tensor,
 * such as extents, are not written: rules have the extents from the shapes.
 * What no output needs is left out at the end. Operators that cannot be written
 * are all named in one message.
 */
#include <stdarg.h>

#include "format/onnx/onnx_writable.h"
#include "format/onnx/onnx_write.h"
#include "op/op_impl.h"

typedef struct rule {
    const cfx_op *op; /* the first overload */
    onnx_write_fn *write;
    const char *onnx;
    const onnx_pair *pair;
} rule;

#define ONNX_WRITE(op, fn, name) extern const cfx_op cfx_op__##op;
#include "format/onnx/onnx_write_rules.def"
#undef ONNX_WRITE

static const rule rules[] = {
#define ONNX_WRITE(op, fn, name) {&cfx_op__##op, onnx_write_##fn, name, NULL},
#include "format/onnx/onnx_write_rules.def"
#undef ONNX_WRITE
#define ONNX_PAIR(name, since, op, ...)                                       \
    {&cfx_op__##op, onnx_write_pair, NULL, ONNX_ROW(name, op, __VA_ARGS__)},
#define ONNX_WRITTEN ONNX_PAIR
#include "format/onnx/onnx_pairs.def"
};

static const rule *find_rule(const cfx_op *op)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        for (const cfx_op *o = rules[i].op; o; o = o->next)
            if (o == op)
                return &rules[i];
    return NULL;
}

bool cfx_onnx__has_rule(const cfx_op *op)
{
    return find_rule(op) != NULL;
}

/* ---- Calls ---- */

static bool is_written(const cfx_node *n)
{
    cfx_value meta = onnx_put_meta_value(n);

    if (meta.kind == CFX_TENSOR)
        return true;
    if (meta.kind == CFX_SYMINT)
        return cfx_dim_symbol_name(meta.u.dim) != NULL;
    if (meta.kind != CFX_TUPLE && meta.kind != CFX_LIST)
        return false;
    return meta.u.seq->len && meta.u.seq->item[0].kind == CFX_TENSOR;
}

static void refuse(onnx_writer *w, const cfx_node *n)
{
    const char *text = w->refused.failed ? "" : cfx_buf_str(&w->refused);
    const char *name = n->target->text;
    size_t len = strlen(name);

    for (const char *at = text; *at;) {
        size_t part = strcspn(at, ",");
        if (part == len && !memcmp(at, name, len))
            return;
        at += part + strspn(at + part, ", ");
    }
    cfx_buf_printf(&w->refused, "%s%s", w->nrefused++ ? ", " : "", name);
}

static const cfx_target *target_of(const onnx_writer *w, const cfx_node *n)
{
    return n->op == CFX_CALL_METHOD
               ? cfx_find_method(w->ctx, n->target->text)
               : cfx_find_function(w->ctx, n->target->text);
}

static bool is_node(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_NODE;
}

/* Do the arguments fit with what is known of nodes? A node alone fits any
 * type. */
static bool fits(const onnx_writer *w, const cfx_bound *b)
{
    const cfx_schema *s = b->target->schema;

    for (int k = 0; k < s->nparams; k++) {
        cfx_schema schema = {.nparams = 1, .params = &s->params[k]};
        cfx_target one = {.schema = &schema};
        cfx_value v = b->in[k];
        if (v.kind == CFX_NODE) {
            const cfx_tensor *t = onnx_put_meta(w, v);
            v = t ? cfx_value_of_tensor((cfx_tensor *)(uintptr_t)t)
                  : onnx_put_meta_value(v.u.node);
        }
        bool known = v.kind != CFX_ABSENT &&
                     !(s->params[k].list && cfx_value_any(v, is_node, NULL));
        if (known && cfx_bound__mismatch(&one, &v) >= 0)
            return false;
    }
    return true;
}

/* Bind to the first signature that the types fit, too; false if there is
 * none. */
static bool bind(onnx_writer *w, const cfx_node *n, cfx_bound *b)
{
    const cfx_args args = {n->args, n->nargs, n->kwargs, n->nkwargs};
    cfx_error why = {0};

    for (const cfx_target *t = target_of(w, n); t && !w->st;
         t = b->target->next) {
        cfx_bound_release(b);
        *b = (cfx_bound){0};
        cfx_status st = cfx_bind(b, w->ctx, t, args, &why);
        if (st == CFX_ENOMEM)
            w->st = cfx_no_memory(w->err);
        if (st)
            return false;
        if (fits(w, b))
            return true;
    }
    return false;
}

/* May the result share the memory of an argument? */
static bool is_view(onnx_writer *w, const cfx_node *n)
{
    cfx_bound b = {0};

    if (!cfx_node_is_call(n))
        return n->op != CFX_OUTPUT;
    bool view = !bind(w, n, &b) || b.inplace ||
                b.target->schema->returns_alias;
    cfx_bound_release(&b);
    return view;
}

/* Is the result of an in-place call the only later use of the memory that it
 * writes to? Then it can be written as the call that makes new memory. */
static bool is_last_use(onnx_writer *w, const cfx_node *n)
{
    const cfx_node *x = w->call->in[0].kind == CFX_NODE ? w->call->in[0].u.node
                                                        : NULL;

    for (const cfx_use *u = x ? x->first_user : NULL; u; u = u->next)
        if (u->user != n && (u->user->order > n->order || is_view(w, u->user)))
            return false;
    while (x && cfx_node_is_call(x) && is_view(w, x)) {
        x = x->nargs && x->args[0].kind == CFX_NODE ? x->args[0].u.node : NULL;
        if (!x || x->nusers != 1)
            return false;
    }
    return x && cfx_node_is_call(x);
}

/* ---- Calls of constants ---- */

/* Results of more numbers are not kept. */
enum { FOLD_MAX = 1 << 20 };

static const cfx_value *folded(const onnx_writer *w, const cfx_node *n)
{
    const cfx_map_entry *e = cfx_map_get(&w->folded, n->name, strlen(n->name));

    return e ? e->v.p : NULL;
}

/* The numbers of a parameter; NULL: it has none. */
static const cfx_tensor *parameter_of(const onnx_writer *w, const cfx_node *n)
{
    cfx_error why = {0};
    cfx_value v;
    bool known = n->op == CFX_GET_ATTR &&
                 !cfx_module_fetch_attr(&v, w->gm, n->target->text, &why) &&
                 v.kind == CFX_TENSOR && !cfx_tensor_is_meta(v.u.tensor);
    return known ? v.u.tensor : NULL;
}

static bool is_byte(const cfx_tensor *t)
{
    return t && onnx_is_byte((cfx_dtype)t->dtype);
}

const cfx_tensor *onnx_put_known(onnx_writer *w, cfx_value v)
{
    const cfx_node *n = v.kind == CFX_NODE ? v.u.node : NULL;
    const cfx_value *known = n ? folded(w, n) : NULL;
    const cfx_tensor *t = known ? known->u.tensor
                          : n   ? parameter_of(w, n)
                                : NULL;

    return t && cfx_tensor_is_contiguous(t) ? t : NULL;
}

/* Integers of packed weights, which are unpacked when the model is written. */
static const cfx_tensor *packed(const onnx_writer *w, const cfx_node *n)
{
    const cfx_tensor *t = parameter_of(w, n);

    return is_byte(t) ? t : NULL;
}

static cfx_status to_folded(void *user, cfx_value v, cfx_value *out)
{
    const cfx_node *n = v.kind == CFX_NODE ? v.u.node : NULL;
    const cfx_value *known = n ? folded(user, n) : NULL;
    const cfx_tensor *t = n ? packed(user, n) : NULL;

    *out = cfx_value_ref(known ? *known
                         : t ? cfx_value_of_tensor((cfx_tensor *)(uintptr_t)t)
                             : v);
    return CFX_OK;
}

static bool is_symint(void *user, cfx_value v)
{
    (void)user;
    return v.kind == CFX_SYMINT;
}

static bool is_constant(onnx_writer *w, const cfx_node *n)
{
    const cfx_target *t = target_of(w, n);
    const bool unpacks = is_byte(
        onnx_put_meta(w, cfx_value_of_node((cfx_node *)(uintptr_t)n)));

    for (size_t i = 0; i < n->nargs; i++)
        if (cfx_value_any(n->args[i], is_symint, NULL))
            return false;
    for (size_t i = 0; i < n->nkwargs; i++)
        if (cfx_value_any(n->kwargs[2 * i + 1], is_symint, NULL))
            return false;
    for (uint32_t i = 0; i < n->ninputs; i++)
        if (!folded(w, n->inputs[i].input) &&
            !(unpacks && packed(w, n->inputs[i].input)))
            return false;
    for (; t; t = t->next)
        if (t->inplace || t->op->flags & (CFX_OP_RANDOM | CFX_OP_EFFECT |
                                          CFX_OP_DEQUANTIZES))
            return false;
    return target_of(w, n) != NULL;
}

/* By what is known of a result before it is computed; integers that are made of those of
 * weights are needed, however many. */
static bool is_small(const onnx_writer *w, const cfx_node *n)
{
    const cfx_tensor *t = onnx_put_meta(
        w, cfx_value_of_node((cfx_node *)(uintptr_t)n));
    int64_t all = 1;

    bool needed = t && is_byte(t) && n->ninputs;

    for (int i = 0; t && i < t->rank && all && !needed; i++) {
        int64_t size = cfx_dim_is_int(t->shape[i]) ? cfx_tensor_size(t, i)
                                                   : FOLD_MAX + 1;
        if (size > FOLD_MAX || (all *= size) > FOLD_MAX)
            return false;
    }
    return t != NULL;
}

/* Compute a call that depends on no input, as arange(5) or what is made of it;
 * false if it does. */
static bool fold(onnx_writer *w, const cfx_node *n)
{
    size_t count = n->nargs + 2u * n->nkwargs;
    cfx_value *args = onnx_put_alloc(w, count, sizeof(*args));
    cfx_value *kept = onnx_put_alloc(w, 1, sizeof(*kept));

    if (!args || !kept || !is_constant(w, n) || !is_small(w, n))
        return false;
    for (size_t i = 0; i < count && !w->st; i++) {
        cfx_value v = i < n->nargs ? n->args[i] : n->kwargs[i - n->nargs];
        w->st = cfx_value_map(&args[i], w->ctx, v, to_folded, w, w->err);
        if (!w->st)
            cfx_scope_take(&w->keep, args[i]);
    }
    const cfx_args all = {args, n->nargs, args + n->nargs, n->nkwargs};
    if (!w->st)
        *kept = n->op == CFX_CALL_METHOD
                    ? cfx_call_method(&w->keep, n->target->text, all)
                    : cfx_call_function(&w->keep, n->target->text, all);
    if (!w->st && cfx_scope_failed(&w->keep)) {
        w->st = cfx_scope_status(&w->keep, w->err);
        cfx_fail_at(w->err, "node %.100s", n->name);
    }
    if (w->st || kept->kind != CFX_TENSOR)
        return w->st;
    cfx_map_entry *e = cfx_map_put(&w->folded, n->name, strlen(n->name), NULL);
    if (e)
        e->v.p = kept;
    else
        w->st = cfx_no_memory(w->err);
    w->node = n;
    w->ntemps = 0;
    onnx_put_alias(w, onnx_put_value(w, *kept));
    return true;
}

/* Extents of a result that are new symbols, as they depend on data. */
static void know_symbols(onnx_writer *w, const cfx_node *n)
{
    const cfx_value v = cfx_value_of_node((cfx_node *)(uintptr_t)n);
    const cfx_tensor *t = onnx_put_meta(w, v);

    for (int i = 0; t && i < t->rank && !w->st; i++)
        if (!cfx_dim_is_int(t->shape[i]) && cfx_dim_symbol_name(t->shape[i]))
            onnx_put_know_dim(w, t->shape[i], onnx_put_value(w, v), i);
}

static void write_call(onnx_writer *w, const cfx_node *n)
{
    cfx_bound call = {0};
    bool bound = bind(w, n, &call);
    const rule *r = bound ? find_rule(call.target->op) : NULL;

    w->node = n;
    w->call = &call;
    w->ntemps = 0;
    if (r && (!call.inplace || is_last_use(w, n))) {
        w->onnx = r->onnx;
        w->pair = r->pair;
        w->asked = 0;
        onnx_put_unused(w, "inplace"); /* as the call is bound */
        r->write(w);
        onnx_put_check_unasked(w);
        know_symbols(w, n);
    } else if (!w->st) {
        refuse(w, n);
    }
    w->call = NULL;
    cfx_bound_release(&call);
}

/* ---- Inputs and outputs ---- */

static char *put_dim_text(onnx_writer *w, cfx_dim d)
{
    size_t size = cfx_dim_format(d, NULL, 0) + 1;
    char *text = onnx_put_alloc(w, size, 1);

    if (text)
        cfx_dim_format(d, text, size);
    return text;
}

static Onnx__TypeProto__Shape *shape_of(onnx_writer *w, const cfx_tensor *t)
{
    Onnx__TypeProto__Shape *s = onnx_put_alloc(w, 1, sizeof(*s));
    Onnx__TypeProto__Dimension *d = onnx_put_alloc(w, (size_t)t->rank + 1,
                                                   sizeof(*d));
    if (!s || !d)
        return NULL;
    onnx__type_proto__shape__init(s);
    s->dim = onnx_put_alloc(w, (size_t)t->rank + 1, sizeof(*s->dim));
    for (int i = 0; i < t->rank && s->dim; i++) {
        onnx__type_proto__dimension__init(&d[i]);
        d[i].has_dim_value = cfx_dim_is_int(t->shape[i]);
        if (d[i].has_dim_value) {
            d[i].dim_value = cfx_tensor_size(t, i);
        } else {
            d[i].dim_param = put_dim_text(w, t->shape[i]);
        }
        s->dim[s->n_dim++] = &d[i];
    }
    return s->dim ? s : NULL;
}

static Onnx__ValueInfoProto *info_of(onnx_writer *w, const char *name,
                                     const cfx_tensor *t)
{
    Onnx__ValueInfoProto *v = onnx_put_alloc(w, 1, sizeof(*v));
    Onnx__TypeProto *type = onnx_put_alloc(w, 1, sizeof(*type));
    Onnx__TypeProto__Tensor *tensor = onnx_put_alloc(w, 1, sizeof(*tensor));

    if (!v || !type || !tensor)
        return NULL;
    onnx__value_info_proto__init(v);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    v->name = (char *)(uintptr_t)name;
    v->type = type;
    type->tensor_type = tensor;
    tensor->has_elem_type = 1;
    tensor->elem_type = onnx_put_code(w, (cfx_dtype)t->dtype);
    tensor->shape = shape_of(w, t);
    return v;
}

/* An input has the name by which the graph is called, if no node has it. */
static const char *input_name(onnx_writer *w, const cfx_node *n)
{
    const char *name = n->target->text;

    if (!strcmp(name, n->name) || *name == '*' ||
        !onnx_put_add(w, &w->taken, name))
        return n->name;
    onnx_put_alias(w, name);
    return name;
}

static void write_placeholder(onnx_writer *w, const cfx_node *n)
{
    cfx_value v = onnx_put_meta_value(n);
    const cfx_tensor number = {.dtype = CFX_I64};
    const cfx_tensor *t = v.kind == CFX_TENSOR   ? v.u.tensor
                          : v.kind == CFX_SYMINT ? &number
                                                 : NULL;

    if (v.kind == CFX_ABSENT) {
        w->st = cfx_fail(w->err, CFX_EUNSUPPORTED,
                         "the type and shape of the input '%s' are not known",
                         n->name);
        return;
    }
    /* Another number, a flag or None is known where it is used. */
    if (!t)
        return;
    const char *name = input_name(w, n);
    w->graph.input[w->graph.n_input++] = info_of(w, name, t);
    if (v.kind == CFX_TENSOR)
        onnx_put_know_dims(w, t, name);
    else
        onnx_put_know_dim(w, v.u.dim, onnx_put_row(w, name), -1);
}

/* Outputs have names of their own: no input, parameter or other output. */
static void write_output(onnx_writer *w, cfx_value v, cfx_map *seen)
{
    const cfx_tensor *t = onnx_put_meta(w, v);
    const char *name = onnx_put_value(w, v);

    if (w->st)
        return;
    if (!t) {
        w->st = cfx_fail(
            w->err, CFX_EUNSUPPORTED,
            "output %zu is not a tensor whose type and shape are known",
            w->graph.n_output);
        return;
    }
    bool made = v.kind == CFX_NODE && cfx_node_is_call(v.u.node) &&
                !onnx_put_has(&w->names, v.u.node->name);
    if (!onnx_put_add(w, seen, name) || !made) {
        int64_t i = (int64_t)w->graph.n_output;
        char *own = onnx_put_numbered(w, "output", '/', i);
        while (own && onnx_put_has(&w->taken, own))
            own = onnx_put_numbered(w, own, '/', i);
        name = own ? ONNX_PUT(w, "Identity", own, name) : NULL;
    }
    if (!w->st)
        w->graph.output[w->graph.n_output++] = info_of(w, name, t);
}

static cfx_status count_part(void *user, cfx_value v)
{
    (void)v;
    ++*(size_t *)user;
    return CFX_OK;
}

struct outputs {
    onnx_writer *w;
    cfx_map seen;
};

static cfx_status write_part(void *user, cfx_value v)
{
    struct outputs *o = user;

    write_output(o->w, v, &o->seen);
    return o->w->st;
}

/* The parts of a result, however it nests, are outputs. */
static void write_outputs(onnx_writer *w, cfx_value v)
{
    struct outputs o = {.w = w};
    size_t n = 0;

    cfx_value_visit(v, count_part, &n);
    w->graph.output = onnx_put_alloc(w, n + 1, sizeof(*w->graph.output));
    cfx_map_init(&o.seen, w->ctx);
    if (!w->st)
        cfx_value_visit(v, write_part, &o);
    cfx_map_release(&o.seen);
}

/* ---- A graph ---- */

static void write_node(onnx_writer *w, const cfx_node *n)
{
    w->node = n;
    switch (n->op) {
    case CFX_PLACEHOLDER: write_placeholder(w, n); break;
    case CFX_OUTPUT: write_outputs(w, n->args[0]); break;
    case CFX_CALL_FUNCTION:
    case CFX_CALL_METHOD:
        if (is_written(n) && !fold(w, n) && !w->st)
            write_call(w, n);
        break;
    case CFX_CALL_MODULE: refuse(w, n); break;
    default: break; /* get_attr: an initializer, where it is used */
    }
}

/* Drop nodes and initializers that no output needs. */
static void drop_unused(onnx_writer *w)
{
    Onnx__GraphProto *g = &w->graph;
    cfx_map used;
    size_t kept = 0, at = g->n_node;

    cfx_map_init(&used, w->ctx);
    for (size_t i = 0; i < g->n_output && !w->st; i++)
        onnx_put_add(w, &used, g->output[i]->name);
    for (size_t i = g->n_node; i-- > 0 && !w->st;) {
        Onnx__NodeProto *n = g->node[i];
        bool needed = false;
        for (size_t k = 0; k < n->n_output && !needed; k++)
            needed = onnx_put_has(&used, n->output[k]);
        for (size_t k = 0; k < n->n_input && needed && !w->st; k++)
            onnx_put_add(w, &used, n->input[k]);
        if (needed)
            g->node[--at] = n;
    }
    if (!w->st && at) {
        memmove(g->node, g->node + at, (g->n_node - at) * sizeof(*g->node));
        g->n_node -= at;
    }
    for (size_t i = 0; i < g->n_initializer; i++)
        if (onnx_put_has(&used, g->initializer[i]->name))
            g->initializer[kept++] = g->initializer[i];
    g->n_initializer = kept;
    cfx_map_release(&used);
}

static int opset_of(const cfx_graph *g)
{
    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n))
        if (cfx_node_is(n, "dequantize_per_channel_group"))
            return ONNX_WRITE_INT4_OPSET;
    return ONNX_WRITE_OPSET;
}

cfx_status onnx_write_graph(onnx_writer *w, const cfx_graph *g)
{
    size_t inputs = 0;

    w->opset = opset_of(g);

    for (const cfx_node *n = cfx_graph_first(g); n; n = cfx_node_next(n)) {
        inputs += n->op == CFX_PLACEHOLDER;
        onnx_put_add(w, &w->taken, n->name);
    }
    w->graph.input = onnx_put_alloc(w, inputs + 1, sizeof(*w->graph.input));
    for (const cfx_node *n = cfx_graph_first(g); n && !w->st;
         n = cfx_node_next(n))
        if (n->op != CFX_OUTPUT || !w->nrefused)
            write_node(w, n);
    if (!w->st && w->refused.failed)
        w->st = cfx_no_memory(w->err);
    if (!w->st && w->nrefused)
        w->st = cfx_fail(w->err, CFX_EUNSUPPORTED,
                         "these calls cannot be written as ONNX: %s",
                         cfx_buf_str(&w->refused));
    if (!w->st)
        drop_unused(w);
    return w->st;
}
