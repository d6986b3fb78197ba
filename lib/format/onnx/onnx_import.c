/*
 * onnx_import -- the nodes of an ONNX model as calls of operators.
 *
 * Each node is imported by the rule of its operator; a call of a function of the model
 * is replaced by the function's nodes. The names of values are looked up in frames: of a
 * graph and the graphs around it, or of a function's body alone.
 */
#include <stdio.h>

#include "format/onnx/onnx.h"

/* The number of nodes after functions are replaced by theirs, and the length of a
 * rule's key. */
enum { MAX_NODES = 4 << 20, MAX_KEY = 96 };

static const onnx_rule rules[] = {
#define ROW(domain, name, since, fn, target, pair)                            \
    {name, domain, domain "." name, since, onnx_import_##fn, target, pair},
#define ONNX_RULE(domain, name, since, fn, target)                            \
    ROW(domain, name, since, fn, target, NULL)
#include "format/onnx/onnx_rules.def"
#undef ONNX_RULE
#define ONNX_PAIR(name, since, op, ...)                                       \
    ROW("", name, since, pair, NULL, (ONNX_ROW(name, op, __VA_ARGS__)))
#define ONNX_IMPORTED ONNX_PAIR
#include "format/onnx/onnx_pairs.def"
};

enum { NRULES = sizeof(rules) / sizeof(*rules) };

/* ---- Frames ---- */

static void bind(onnx_importer *im, const char *name, cfx_value v)
{
    cfx_value *kept = onnx_alloc(&im->r.base, 1, sizeof(*kept));
    bool added = true;

    if (!kept)
        return;
    *kept = v;
    cfx_map_entry *e = cfx_map_put(&im->frame->names, name, strlen(name),
                                   &added);
    if (!e)
        cfx_no_memory(&im->r.base.error);
    else if (!added)
        cfx_scope_fail(&im->r.base, CFX_EGRAPH,
                       "the value '%s' is defined twice", name);
    else
        e->v.p = kept;
}

/* The value of a name, or NULL. */
const cfx_value *onnx_find_value(const onnx_importer *im, const char *name)
{
    for (const onnx_frame *f = im->frame; f; f = f->outer) {
        const cfx_map_entry *e = cfx_map_get(&f->names, name, strlen(name));
        if (e)
            return e->v.p;
    }
    return NULL;
}

static cfx_value value_of(onnx_importer *im, const char *name)
{
    const cfx_value *v = *name ? onnx_find_value(im, name) : NULL;

    if (v)
        return *v;
    return *name ? cfx_scope_fail(&im->r.base, CFX_EGRAPH,
                                  "there is no value '%s' before it", name)
                 : cfx_none();
}

cfx_value onnx_value_of(onnx_node *n, const char *name)
{
    return value_of(n->importer, name);
}

static void enter(onnx_importer *im, onnx_frame *f, onnx_frame *outer)
{
    *f = outer ? *outer : (onnx_frame){0};
    f->outer = outer;
    cfx_map_init(&f->names, im->r.base.ctx);
    im->frame = f;
    if (++im->depth > ONNX_MAX_DEPTH)
        cfx_scope_fail(&im->r.base, CFX_EGRAPH,
                       "graphs or functions nest more than %d deep",
                       ONNX_MAX_DEPTH);
}

static void leave(onnx_importer *im, onnx_frame *f, onnx_frame *before)
{
    cfx_map_release(&f->names);
    im->frame = before;
    im->depth--;
}

/* ---- Operator sets and rules ---- */

int64_t onnx_opset_of(Onnx__OperatorSetIdProto **opset, size_t n,
                      const char *domain)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(onnx_domain(opset[i]->domain), domain))
            return opset[i]->version;
    return *domain ? 1 : 0;
}

const onnx_rule *onnx_rule_at(size_t i)
{
    return i < NRULES ? &rules[i] : NULL;
}

static void index_rules(onnx_importer *im)
{
    for (size_t i = 0; i < NRULES; i++) {
        const char *key = rules[i].key;
        cfx_map_entry *e = cfx_map_put(&im->rules, key, strlen(key), NULL);
        if (e)
            e->v.p = (void *)(uintptr_t)&rules[i];
        else
            cfx_no_memory(&im->r.base.error);
    }
}

const onnx_rule *onnx_find_rule(const onnx_importer *im, const char *domain,
                                const char *name, int64_t opset)
{
    char key[MAX_KEY];
    int len = snprintf(key, sizeof(key), "%s.%s", domain, name);
    const cfx_map_entry *e = len > 0 && len < MAX_KEY
                                 ? cfx_map_get(&im->rules, key, (size_t)len)
                                 : NULL;
    const onnx_rule *r = e ? e->v.p : NULL;

    return r && !strcmp(r->domain, domain) && r->since <= opset ? r : NULL;
}

const Onnx__FunctionProto *onnx_find_function(const Onnx__ModelProto *m,
                                              const Onnx__NodeProto *p)
{
    for (size_t i = 0; i < m->n_functions; i++) {
        const Onnx__FunctionProto *f = m->functions[i];
        if (!strcmp(onnx_text(f->name), onnx_text(p->op_type)) &&
            !strcmp(onnx_domain(f->domain), onnx_domain(p->domain)) &&
            !strcmp(onnx_text(f->overload), onnx_text(p->overload)))
            return f;
    }
    return NULL;
}

/* ---- Nodes ---- */

static bool import_nodes(onnx_importer *im, Onnx__NodeProto **node, size_t n);

/* A node that a rule made takes the name of the value. */
static void name_result(onnx_importer *im, cfx_value v, const char *name,
                        uint32_t first_id)
{
    cfx_node *n = v.kind == CFX_NODE ? v.u.node : NULL;
    char *id;

    if (!n || n->graph != im->r.at->graph || n->id < first_id ||
        !cfx_node_is_call(n) || !(id = onnx_identifier(&im->r, name, false)))
        return;
    cfx_node_rename(n, id, &im->r.base.error);
}

static bool call_function(onnx_importer *im, const Onnx__NodeProto *p,
                          const Onnx__FunctionProto *f, const cfx_value *in,
                          cfx_value *out)
{
    onnx_frame frame, *before = im->frame;

    enter(im, &frame, NULL);
    frame.opset = f->opset_import;
    frame.nopsets = f->n_opset_import;
    frame.function = f;
    frame.call = p;
    frame.caller = before;
    for (size_t i = 0; i < f->n_input; i++)
        bind(im, onnx_text(f->input[i]), i < p->n_input ? in[i] : cfx_none());
    bool ok = import_nodes(im, f->node, f->n_node);
    for (size_t i = 0; i < p->n_output && ok; i++)
        out[i] = i < f->n_output ? value_of(im, onnx_text(f->output[i]))
                                 : cfx_none();
    leave(im, &frame, before);
    return !cfx_scope_failed(&im->r.base);
}

/* Fail where the node has an attribute that its rule did not ask for. */
static void check_attributes(onnx_node *n)
{
    for (size_t i = 0; i < n->proto->n_attribute; i++)
        if (!n->seen[i])
            onnx_fail(n, CFX_EUNSUPPORTED,
                      "its attribute '%.60s' is not supported",
                      onnx_text(n->proto->attribute[i]->name));
}

/* Operators that move numbers of less than 8 bits keep their type. */
static void keep_types(onnx_node *n)
{
    int64_t code = 0;
    cfx_dtype memory;

    for (size_t i = 0; i < n->nin && !onnx_narrow_bits(code); i++)
        code = onnx_marked_type(n->s, n->in[i]);
    for (size_t i = 0; i < n->nout && onnx_narrow_bits(code); i++) {
        cfx_value meta = onnx_meta(n->s, n->out[i]);
        if (meta.kind == CFX_TENSOR && onnx_memory_type(&memory, code) &&
            meta.u.tensor->dtype == memory &&
            !onnx_marked_type(n->s, n->out[i]))
            onnx_mark_type(n->s, n->out[i], code);
    }
}

static void call_rule(onnx_importer *im, const Onnx__NodeProto *p,
                      cfx_value *in, cfx_value *out)
{
    const char *domain = onnx_domain(p->domain), *op = onnx_text(p->op_type);
    int64_t opset = onnx_opset_of(im->frame->opset, im->frame->nopsets,
                                  domain);
    const onnx_rule *rule = onnx_find_rule(im, domain, op, opset);
    bool *seen = onnx_alloc(&im->r.base, p->n_attribute + 1, sizeof(*seen));
    onnx_node n = {
        im,          &im->r.base, p,   rule, opset,          p->n_input,
        p->n_output, in,          out, seen, ONNX_NO_UINT64, CFX_BOOL};

    if (!seen)
        return;
    if (rule) {
        onnx_import_node(&n);
        for (size_t i = 0; i < n.nout; i++)
            n.out[i] = onnx_narrowed(&n, n.out[i]);
        check_attributes(&n);
        keep_types(&n);
    } else {
        cfx_scope_fail(
            &im->r.base, CFX_EOPERATOR,
            "cfx has no rule for the operator %s%s%s of operator set %lld",
            domain, *domain ? "." : "", op, (long long)opset);
    }
}

static void bind_results(onnx_importer *im, const Onnx__NodeProto *p,
                         const cfx_value *out, uint32_t first_id)
{
    for (size_t i = 0; i < p->n_output && !cfx_scope_failed(&im->r.base);
         i++) {
        const char *name = onnx_text(p->output[i]);
        if (!*name)
            continue;
        if (out[i].kind == CFX_ABSENT)
            cfx_scope_fail(&im->r.base, CFX_EUNSUPPORTED,
                           "its output %zu is not supported", i);
        name_result(im, out[i], name, first_id);
        bind(im, name, out[i]);
    }
}

/* "node conv1 (Conv): " before the text of an error. */
static void tell_place(onnx_importer *im, const Onnx__NodeProto *p)
{
    cfx_fail_at(&im->r.base.error, "node %.100s (%.60s)", onnx_node_name(p),
                onnx_text(p->op_type));
}

static bool import_node(onnx_importer *im, const Onnx__NodeProto *p)
{
    cfx_scope *s = &im->r.base;
    uint32_t first_id = cfx_graph_ids(im->r.at->graph);
    /* Rules may look at inputs that are not there: they are absent. */
    cfx_value *in = onnx_alloc(s, p->n_input + 8, sizeof(*in));
    cfx_value *out = onnx_alloc(s, p->n_output + 8, sizeof(*out));

    if (!in || !out)
        return false;
    if (++im->nimported > MAX_NODES)
        cfx_scope_fail(s, CFX_ELIMIT, "the model has more than %d nodes",
                       MAX_NODES);
    for (size_t i = 0; i < p->n_input; i++)
        in[i] = value_of(im, onnx_text(p->input[i]));
    const Onnx__FunctionProto *f = onnx_find_function(im->model, p);
    if (!cfx_scope_failed(s)) {
        if (f)
            call_function(im, p, f, in, out);
        else
            call_rule(im, p, in, out);
    }
    if (!cfx_scope_failed(s))
        bind_results(im, p, out, first_id);
    if (cfx_scope_failed(s))
        tell_place(im, p);
    return !cfx_scope_failed(s);
}

static bool import_nodes(onnx_importer *im, Onnx__NodeProto **node, size_t n)
{
    bool ok = !cfx_scope_failed(&im->r.base);

    for (size_t i = 0; i < n && ok; i++) {
        cfx_status st = i % 64 ? CFX_OK
                               : cfx_context_check(im->r.base.ctx,
                                                   &im->r.base.error);
        ok = !st && import_node(im, node[i]);
    }
    return ok;
}

/* ---- Graphs ---- */

/* Keep a type that the dtype does not tell. */
static void keep_type(cfx_scope *s, cfx_value v, int64_t code)
{
    if (onnx_narrow_bits(code) || code == ONNX_STRING)
        onnx_mark_type(s, v, code);
}

cfx_value onnx_constant(onnx_importer *im, Onnx__TensorProto *p)
{
    cfx_scope *s = &im->r.base;
    cfx_map_entry *e = onnx_address_put(&im->r, &im->constants, p);
    cfx_value *kept = e ? e->v.p : NULL;

    if (kept)
        return *kept;
    kept = onnx_alloc(s, 1, sizeof(*kept));
    if (cfx_scope_failed(s) ||
        onnx_constant_read(kept, s->ctx, p, im->dir, &s->error))
        return cfx_none();
    e->v.p = kept;
    cfx_scope_take(s, *kept);
    keep_type(s, *kept, p->data_type);
    return *kept;
}

static void bind_initializers(onnx_importer *im, const Onnx__GraphProto *g)
{
    cfx_scope *s = &im->r.base;

    if (g->n_sparse_initializer)
        cfx_scope_fail(s, CFX_EUNSUPPORTED, "it has sparse initializers");
    for (size_t i = 0; i < g->n_initializer && !cfx_scope_failed(s); i++) {
        const char *name = onnx_text(g->initializer[i]->name);
        cfx_value v = onnx_constant(im, g->initializer[i]);
        if (cfx_scope_failed(s)) {
            cfx_fail_at(&s->error, "initializer %.100s", name);
            return;
        }
        bind(im, name, v);
        if (v.kind == CFX_TENSOR)
            onnx_name_tensor(s, v.u.tensor, name);
    }
}

static cfx_dim extent_of(onnx_importer *im, const char *input, size_t axis,
                         const Onnx__TypeProto__Dimension *d)
{
    char unnamed[128];

    if (d->has_dim_value)
        return d->dim_value < 0 ? CFX_DIM_BAD : cfx_dim_int(d->dim_value);
    snprintf(unnamed, sizeof(unnamed), "%.100s_dim%zu", input, axis);
    const char *name = d->dim_param && *d->dim_param ? d->dim_param : unnamed;
    const char *id = onnx_identifier(&im->r, name, false);
    cfx_dim symbol = id ? cfx_dim_symbol(im->r.env, id, 1) : CFX_DIM_BAD;
    if (cfx_dim_is_bad(symbol))
        cfx_no_memory(&im->r.base.error);
    return symbol;
}

/* The meta of an input by its declared type; absent where that is not a tensor
 * with a shape. */
static cfx_value declared_meta(onnx_importer *im, const char *name,
                               const Onnx__TypeProto *type)
{
    const Onnx__TypeProto__Tensor *t = type ? type->tensor_type : NULL;
    cfx_scope *s = &im->r.base;
    cfx_dim shape[CFX_MAX_RANK];
    cfx_dtype dtype;
    cfx_tensor *meta;

    if (!t)
        return CFX_NOTHING;
    if (t->elem_type == ONNX_STRING) {
        dtype = CFX_U8;
    } else if (!onnx_memory_type(&dtype, t->elem_type)) {
        cfx_scope_fail(s, CFX_EUNSUPPORTED,
                       "the input '%s' is of type %s, which is not supported",
                       name, onnx_type_name(t->elem_type));
        return CFX_NOTHING;
    }
    if (!t->shape)
        return CFX_NOTHING;
    if (t->shape->n_dim > CFX_MAX_RANK) {
        cfx_scope_fail(s, CFX_ESHAPE, "the input '%s' has more than %d axes",
                       name, CFX_MAX_RANK);
        return CFX_NOTHING;
    }
    for (size_t i = 0; i < t->shape->n_dim; i++)
        shape[i] = extent_of(im, name, i, t->shape->dim[i]);
    if (cfx_scope_failed(s))
        return CFX_NOTHING;
    if (cfx_tensor_meta(&meta, s->ctx, dtype, (int)t->shape->n_dim, shape,
                        NULL, &s->error)) {
        cfx_fail_at(&s->error, "input %.100s", name);
        return CFX_NOTHING;
    }
    return cfx_scope_take(s, cfx_value_of_tensor(meta));
}

static cfx_value constant_input(const onnx_importer *im, const char *name,
                                const char *id, size_t place)
{
    const cfx_named_value *c = im->options->constants;

    for (size_t i = 0; i < im->options->nconstants; i++)
        if (c[i].value.kind != CFX_ABSENT &&
            (*c[i].name ? !strcmp(c[i].name, name) || !strcmp(c[i].name, id)
                        : i == place))
            return c[i].value;
    return CFX_NOTHING;
}

/* A number that is known, as the tensor that the input is declared to be; absent
 * if it is none. */
static cfx_value number_as_tensor(onnx_importer *im, cfx_value v,
                                  cfx_value meta)
{
    cfx_scope *s = &im->r.base;
    cfx_tensor *t;

    if (v.kind != CFX_INT && v.kind != CFX_FLOAT)
        return v;
    if (meta.kind != CFX_TENSOR || meta.u.tensor->rank)
        return CFX_NOTHING;
    cfx_dtype dtype = (cfx_dtype)meta.u.tensor->dtype;
    if (v.kind == CFX_FLOAT && !cfx_dtype_is_float(dtype))
        return CFX_NOTHING;
    if (cfx_tensor_new(&t, s->ctx, dtype, 0, NULL, &s->error))
        return CFX_NOTHING;
    if (v.kind == CFX_INT)
        cfx_element_set_int(dtype, t->data, v.u.i);
    else
        cfx_element_set_double(dtype, t->data, v.u.f);
    return cfx_scope_take(s, cfx_value_of_tensor(t));
}

/* The meta of a value that an input will have: of a tensor or a list of them;
 * absent for any other. */
static cfx_value meta_like(onnx_importer *im, cfx_value v)
{
    cfx_scope *s = &im->r.base;
    cfx_tensor *meta;

    if (v.kind == CFX_TENSOR) {
        const cfx_tensor *t = v.u.tensor;
        return cfx_tensor_meta(&meta, s->ctx, (cfx_dtype)t->dtype, t->rank,
                               t->shape, NULL, &s->error)
                   ? CFX_NOTHING
                   : cfx_scope_take(s, cfx_value_of_tensor(meta));
    }
    if (v.kind != CFX_LIST)
        return CFX_NOTHING;
    cfx_value *item = onnx_alloc(s, v.u.seq->len + 1, sizeof(*item));
    for (uint32_t i = 0; item && i < v.u.seq->len; i++) {
        if (v.u.seq->item[i].kind != CFX_TENSOR)
            return CFX_NOTHING;
        item[i] = meta_like(im, v.u.seq->item[i]);
    }
    return item ? onnx_arg(s, v.u.seq->len, item) : CFX_NOTHING;
}

/* The value of an input that is declared as a sequence or an optional value, of
 * which the options tell what it will be: its items, or None. */
static cfx_value structured_input(onnx_importer *im, const char *id,
                                  cfx_value known)
{
    cfx_scope *s = &im->r.base;
    cfx_value v = onnx_placeholder(s, id, meta_like(im, known));
    size_t n = known.kind == CFX_LIST ? known.u.seq->len : 0;
    cfx_value *item = onnx_alloc(s, n + 1, sizeof(*item));

    if (known.kind != CFX_LIST)
        return known.kind == CFX_NONE ? known : v;
    for (size_t i = 0; item && i < n; i++)
        item[i] = cfx_nth(s, v, (int64_t)i);
    return item ? onnx_arg(s, n, item) : v;
}

static bool is_meta(cfx_value v)
{
    return v.kind == CFX_TENSOR && cfx_tensor_is_meta(v.u.tensor);
}

/* May an input that is declared so have that meta? */
static bool may_have(cfx_value declared, cfx_value meta)
{
    const cfx_tensor *k = meta.u.tensor, *d = declared.u.tensor;

    if (declared.kind != CFX_TENSOR)
        return true;
    bool same = d->rank == k->rank && d->dtype == k->dtype;
    for (int i = 0; same && i < d->rank; i++)
        same = !cfx_dim_is_int(d->shape[i]) ||
               cfx_dim_same(d->shape[i], k->shape[i]);
    return same;
}

/* "list[list[str]]" for strings of two axes. */
static void texts_type(char *to, size_t size, const Onnx__TypeProto__Tensor *t)
{
    size_t rank = t->shape->n_dim, at = 0;

    for (size_t i = 0; i < rank && at < size; i++)
        at += (size_t)snprintf(to + at, size - at, "list[");
    if (at < size)
        at += (size_t)snprintf(to + at, size - at, "str");
    for (size_t i = 0; i < rank && at < size; i++)
        at += (size_t)snprintf(to + at, size - at, "]");
}

/* An input of strings: its type is in the graph, the recorder has its shape. */
static cfx_value texts_input(cfx_scope *s, const char *id, cfx_value shape,
                             const Onnx__TypeProto__Tensor *t)
{
    cfx_value v = onnx_placeholder(s, id, CFX_NOTHING);
    char text[128];

    if (cfx_scope_failed(s))
        return v;
    if (t->shape)
        texts_type(text, sizeof(text), t);
    cfx_node_set_type(v.u.node, t->shape ? text : "list", &s->error);
    onnx_set_meta(s, v, shape);
    return v;
}

static void bind_inputs(onnx_importer *im, const Onnx__GraphProto *g)
{
    cfx_scope *s = &im->r.base;
    size_t place = 0;

    for (size_t i = 0; i < g->n_input && !cfx_scope_failed(s); i++) {
        const char *name = onnx_text(g->input[i]->name);
        /* Before IR version 4 initializers were inputs, too. */
        if (cfx_map_get(&im->frame->names, name, strlen(name)))
            continue;
        const char *id = onnx_identifier(&im->r, name, false);
        cfx_value meta = declared_meta(im, name, g->input[i]->type);
        cfx_value known = constant_input(im, name, id ? id : "", place++);
        if (!id)
            cfx_no_memory(&s->error);
        known = number_as_tensor(im, known, meta);
        if (is_meta(known) && may_have(meta, known))
            meta = known;
        const Onnx__TypeProto *type = g->input[i]->type;
        bool is_tensor = !type ||
                         (!type->sequence_type && !type->optional_type);
        bool texts = type && type->tensor_type &&
                     type->tensor_type->elem_type == ONNX_STRING;
        cfx_value v = texts       ? texts_input(s, id, meta, type->tensor_type)
                      : is_tensor ? onnx_placeholder(s, id, meta)
                                  : structured_input(im, id, known);
        if (is_tensor && known.kind != CFX_ABSENT && !is_meta(known))
            v = known;
        if (type && type->tensor_type)
            keep_type(s, v, type->tensor_type->elem_type);
        bind(im, name, v);
    }
}

/* The outputs of a graph as tensors. */
static bool take_outputs(onnx_importer *im, const Onnx__GraphProto *g,
                         cfx_value *out, size_t n)
{
    cfx_scope *s = &im->r.base;

    if (g->n_output < n)
        cfx_scope_fail(s, CFX_EGRAPH, "a graph has %zu outputs, not %zu",
                       g->n_output, n);
    for (size_t i = 0; i < n && !cfx_scope_failed(s); i++)
        out[i] = value_of(im, onnx_text(g->output[i]->name));
    return !cfx_scope_failed(s);
}

/* An output: strings, sequences and None only of the model itself. */
static cfx_value as_output(cfx_scope *s, cfx_value v, bool in_branch)
{
    bool texts = onnx_is_texts(s, v);
    bool structured = texts || v.kind == CFX_LIST || v.kind == CFX_NONE;

    if (structured && in_branch)
        return cfx_scope_fail(
            s, CFX_EUNDECIDED,
            "a graph that gives %s is chosen by numbers that are not known when the model is read",
            texts ? "strings" : "a sequence or an optional value");
    return structured ? v : onnx_as_tensor(s, v);
}

/* End the graph at hand with one value, or a tuple. */
static void end_graph(cfx_scope *s, size_t n, const cfx_value *v,
                      bool in_branch, bool single)
{
    cfx_value *out = onnx_alloc(s, n + 1, sizeof(*out));

    for (size_t i = 0; out && i < n && !cfx_scope_failed(s); i++)
        out[i] = onnx_output_value(s, as_output(s, v[i], in_branch));
    if (cfx_scope_failed(s))
        return;
    cfx_value all = single ? out[0] : cfx_list_of(s, CFX_TUPLE, n, out);
    if (!cfx_scope_failed(s))
        cfx_graph_output(onnx_recorder_of(s)->at->graph, all, &s->error);
}

bool onnx_inline(onnx_node *n, const Onnx__GraphProto *g, const cfx_value *in,
                 size_t nin, cfx_value *out, size_t nout)
{
    onnx_importer *im = n->importer;
    onnx_frame frame, *before = im->frame;

    enter(im, &frame, before);
    if (g->n_input < nin)
        onnx_fail(n, CFX_EGRAPH, "a graph in it has %zu inputs, not %zu",
                  g->n_input, nin);
    for (size_t i = 0; i < nin && !cfx_scope_failed(n->s); i++)
        bind(im, onnx_text(g->input[i]->name), in[i]);
    bind_initializers(im, g);
    bool ok = import_nodes(im, g->node, g->n_node) &&
              take_outputs(im, g, out, nout);
    leave(im, &frame, before);
    return ok;
}

bool onnx_branch_open(onnx_node *n, onnx_branch *b)
{
    onnx_importer *im = n->importer;
    cfx_scope *s = n->s;

    if (cfx_scope_failed(s) ||
        onnx_graph_init(&b->graph, s->ctx, im->r.at, &s->error))
        return false;
    b->outer = im->r.at;
    b->before = im->frame;
    im->r.at = &b->graph;
    enter(im, &b->frame, b->before);
    return true;
}

cfx_value onnx_branch_input(onnx_node *n, const char *name, cfx_value meta)
{
    char *id = onnx_identifier(&n->importer->r, name, false);

    return onnx_placeholder(n->s, id ? id : "x", meta);
}

void onnx_branch_capture(onnx_node *n, size_t count, const char *const *name,
                         const cfx_value *metas)
{
    for (size_t i = 0; i < count && !cfx_scope_failed(n->s); i++) {
        cfx_value v = onnx_branch_input(n, name[i], metas[i]);
        keep_type(n->s, v,
                  onnx_marked_type(n->s, value_of(n->importer, name[i])));
        bind(n->importer, name[i], v);
    }
}

void onnx_branch_drop(onnx_node *n, onnx_branch *b)
{
    leave(n->importer, &b->frame, b->before);
    n->importer->r.at = b->outer;
    onnx_graph_release(&b->graph);
}

cfx_value onnx_branch_close(onnx_node *n, onnx_branch *b, const char *name)
{
    onnx_importer *im = n->importer;
    cfx_scope *s = n->s;
    cfx_value result = CFX_NOTHING;
    cfx_module *m = NULL;
    char unique[64];

    if (!cfx_scope_failed(s))
        result = onnx_result_of(s);
    leave(im, &b->frame, b->before);
    im->r.at = b->outer;
    /* The metas look at their graph, which is taken, also on failure. */
    cfx_node_map_release(&b->graph.metas);
    if (!cfx_scope_failed(s)) {
        cfx_graph_module_new_take_both(&m, s->ctx, b->graph.module,
                                       b->graph.graph, "GraphModule",
                                       &s->error);
        b->graph.module = NULL;
        b->graph.graph = NULL;
    }
    if (m)
        onnx_set_result_take(s, m, result);
    else
        cfx_value_unref(result); /* Its parts may lie in the graph. */
    onnx_graph_release(&b->graph);
    snprintf(unique, sizeof(unique), "%s_%d", name, im->nbranches++);
    return m ? onnx_child_take(s, unique, m) : cfx_none();
}

void onnx_branch_results(onnx_node *n, size_t count, const cfx_value *v,
                         bool single)
{
    end_graph(n->s, count, v, true, single);
}

/* ---- A model ---- */

/* Keep the names of the graph's outputs as metadata of the output node. A name with
 * a slash is left out, since `cfx run -O` makes file names of them. */
static void name_outputs(cfx_scope *s, const Onnx__GraphProto *g)
{
    cfx_node *n = cfx_graph_output_node(onnx_recorder_of(s)->at->graph);
    cfx_value *name = onnx_alloc(s, g->n_output + 1, sizeof(*name));

    for (size_t i = 0; name && i < g->n_output; i++) {
        const char *text = onnx_text(g->output[i]->name);
        name[i] = strchr(text, '/') ? cfx_none() : cfx_str(s, text);
    }
    if (name && !cfx_scope_failed(s))
        cfx_node_set_meta(n, "output_names",
                          cfx_list_of(s, CFX_TUPLE, g->n_output, name),
                          &s->error);
}

static void import_model(onnx_importer *im)
{
    const Onnx__ModelProto *m = im->model;
    onnx_frame frame;

    enter(im, &frame, NULL);
    frame.opset = m->opset_import;
    frame.nopsets = m->n_opset_import;
    bind_initializers(im, m->graph);
    bind_inputs(im, m->graph);
    size_t n = m->graph->n_output;
    cfx_value *out = onnx_alloc(&im->r.base, n + 1, sizeof(*out));
    if (out && import_nodes(im, m->graph->node, m->graph->n_node) &&
        take_outputs(im, m->graph, out, n))
        end_graph(&im->r.base, n, out, false, n == 1);
    if (!cfx_scope_failed(&im->r.base))
        name_outputs(&im->r.base, m->graph);
    leave(im, &frame, NULL);
}

cfx_status onnx_import(cfx_module **out, cfx_context *ctx,
                       const Onnx__ModelProto *model, onnx_folder *dir,
                       const cfx_load_options *options, cfx_error *err)
{
    onnx_importer im = {.model = model, .dir = dir, .options = options};
    onnx_graph graph = {0};
    char *id = NULL;

    *out = NULL;
    if (!model->graph || !model->n_opset_import)
        return cfx_fail(err, CFX_EPARSE, "is not an ONNX model: it has no %s",
                        model->graph ? "operator set" : "graph");
    cfx_map_init(&im.rules, ctx);
    cfx_map_init(&im.constants, ctx);
    cfx_status st = onnx_recorder_init(&im.r, ctx, err);
    if (!st)
        st = onnx_graph_init(&graph, ctx, NULL, err);
    if (!st) {
        im.r.at = &graph;
        index_rules(&im);
        import_model(&im);
        id = onnx_identifier(&im.r, onnx_text(model->graph->name), false);
        st = cfx_scope_status(&im.r.base, err);
        if (st == CFX_EOPERATOR)
            onnx_name_unknown(&im, err);
    }
    onnx_release_results(&im.r);
    cfx_node_map_release(&graph.metas);
    if (!st) {
        st = cfx_graph_module_new_take_both(
            out, ctx, graph.module, graph.graph, id && *id ? id : NULL, err);
        graph.module = NULL;
        graph.graph = NULL;
    }
    /* Extents that nothing took, and nodes without users. */
    if (!st)
        st = cfx_graph_eliminate_dead_code(cfx_graph_module_graph(*out), NULL,
                                           NULL, err);
    if (!st)
        cfx_module_train(*out, false);
    if (st) {
        cfx_module_unref(*out);
        *out = NULL;
    }
    onnx_graph_release(&graph);
    cfx_map_release(&im.constants);
    cfx_map_release(&im.rules);
    onnx_recorder_release(&im.r);
    return st;
}
