/*
 * onnx_write_put -- values, constants and nodes of a model that is written.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "format/onnx/onnx_write.h"
#include "op/op_impl.h"

void *onnx_put_alloc(onnx_writer *w, size_t n, size_t size)
{
    size_t bytes = 0;
    void *p = cfx_mul_size(&bytes, n ? n : 1, size)
                  ? cfx_arena_alloc(&w->arena, bytes)
                  : NULL;

    if (p)
        memset(p, 0, bytes);
    else if (!w->st)
        w->st = cfx_no_memory(w->err);
    return p;
}

void onnx_put_fail(onnx_writer *w, const char *fmt, ...)
{
    char text[256];
    va_list args;

    if (w->st)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    w->st = cfx_fail(w->err, CFX_EUNSUPPORTED, "node %.100s (%.80s): %s",
                     w->node->name, w->node->target->text, text);
}

bool onnx_put_add(onnx_writer *w, cfx_map *set, const char *name)
{
    bool added = false;

    if (!cfx_map_put(set, name, strlen(name), &added) && !w->st)
        w->st = cfx_no_memory(w->err);
    return added;
}

char *onnx_put_text(onnx_writer *w, const char *text)
{
    char *copy = cfx_arena_strdup(&w->arena, text, strlen(text));

    if (!copy && !w->st)
        w->st = cfx_no_memory(w->err);
    return copy;
}

char *onnx_put_numbered(onnx_writer *w, const char *name, char mark, int64_t i)
{
    char *text = NULL;
    cfx_buf b;

    cfx_buf_init(&b, w->ctx);
    cfx_buf_printf(&b, "%s%c%lld", name, mark, (long long)i);
    if (!b.failed)
        text = onnx_put_text(w, cfx_buf_str(&b));
    else if (!w->st)
        w->st = cfx_no_memory(w->err);
    cfx_buf_release(&b);
    return text;
}

/* ---- Types and shapes ---- */

cfx_value onnx_put_meta_value(const cfx_node *n)
{
    cfx_value v = cfx_node_meta(n, "val");

    return v.kind != CFX_ABSENT ? v : cfx_node_meta(n, "tensor_meta");
}

const cfx_tensor *onnx_put_meta(const onnx_writer *w, cfx_value v)
{
    if (v.kind == CFX_NODE && v.u.node->op == CFX_GET_ATTR) {
        cfx_error ignored = {0};
        cfx_value t;
        return !cfx_module_fetch_attr(&t, w->gm, v.u.node->target->text,
                                      &ignored) &&
                       t.kind == CFX_TENSOR
                   ? t.u.tensor
                   : NULL;
    }
    if (v.kind == CFX_NODE)
        v = onnx_put_meta_value(v.u.node);
    return v.kind == CFX_TENSOR ? v.u.tensor : NULL;
}

const cfx_tensor *onnx_put_self(onnx_writer *w, const char *name)
{
    const cfx_tensor *t = onnx_put_meta(w, onnx_put_arg(w, name));

    if (!t)
        onnx_put_fail(w, "the type and shape of %s are not known", name);
    return t;
}

const cfx_tensor *onnx_put_result(onnx_writer *w)
{
    cfx_value v = onnx_put_meta_value(w->node);

    if (v.kind == CFX_TENSOR)
        return v.u.tensor;
    onnx_put_fail(w, "its result is not one tensor");
    return NULL;
}

cfx_value onnx_put_self_arg(onnx_writer *w)
{
    cfx_value v = onnx_put_arg(w, "self");

    return v.kind == CFX_NONE ? onnx_put_arg(w, "input") : v;
}

cfx_dtype onnx_put_result_type(onnx_writer *w)
{
    const cfx_tensor *t = onnx_put_result(w);

    return t ? (cfx_dtype)t->dtype : CFX_F32;
}

int64_t onnx_put_extent(onnx_writer *w, const cfx_tensor *t, int axis)
{
    if (cfx_dim_is_int(t->shape[axis]))
        return cfx_tensor_size(t, axis);
    onnx_put_fail(w, "it needs extent %d as a number, not a symbol", axis);
    return 0;
}

/* ---- Arguments ---- */

cfx_value onnx_put_arg(onnx_writer *w, const char *name)
{
    int k = cfx_param_find(w->call->target->schema, name, strlen(name));

    if (k >= 0)
        w->asked |= (uint32_t)1 << k;
    return k < 0 ? cfx_none() : w->call->in[k];
}

void onnx_put_unused(onnx_writer *w, const char *name)
{
    onnx_put_arg(w, name);
}

void onnx_put_settled(onnx_writer *w)
{
    w->asked = UINT32_MAX;
}

static bool is_number(cfx_value v)
{
    return v.kind == CFX_INT || v.kind == CFX_FLOAT;
}

static bool is_default(const cfx_param *p, cfx_value v)
{
    if (p->required)
        return false;
    return v.kind == CFX_ABSENT || cfx_value_equal(v, p->init) ||
           (is_number(v) && is_number(p->init) &&
            cfx_value_number(v) == cfx_value_number(p->init));
}

void onnx_put_check_unasked(onnx_writer *w)
{
    const cfx_schema *s = w->call->target->schema;

    for (int k = 0; k < s->nparams && !w->st; k++) {
        const cfx_param *p = &s->params[k];
        /* Types, devices and layouts are those of the result. */
        bool settled = p->base >= CFX_T_DTYPE && p->base <= CFX_T_GENERATOR;
        if (!(w->asked >> k & 1) && !settled && !is_default(p, w->call->in[k]))
            onnx_put_fail(w, "its %s is not written as ONNX", p->name);
    }
}

int64_t onnx_put_int(onnx_writer *w, const char *name, int64_t otherwise)
{
    cfx_value v = onnx_put_arg(w, name);

    if (v.kind == CFX_NONE || v.kind == CFX_ABSENT)
        return otherwise;
    if (v.kind == CFX_INT || v.kind == CFX_BOOL_VALUE)
        return v.u.i;
    onnx_put_fail(w, "%s is not a number that is known", name);
    return otherwise;
}

double onnx_put_number(onnx_writer *w, const char *name, double otherwise)
{
    cfx_value v = onnx_put_arg(w, name);

    if (v.kind == CFX_NONE || v.kind == CFX_ABSENT)
        return otherwise;
    if (v.kind == CFX_INT || v.kind == CFX_FLOAT || v.kind == CFX_BOOL_VALUE)
        return cfx_value_number(v);
    onnx_put_fail(w, "%s is not a number that is known", name);
    return otherwise;
}

bool onnx_put_is(onnx_writer *w, const char *name, const char *word)
{
    cfx_value v = onnx_put_arg(w, name);

    return v.kind == CFX_STR && !strcmp(v.u.str->text, word);
}

size_t onnx_put_list(onnx_writer *w, const char *name, int64_t *to,
                     size_t room)
{
    cfx_value v = onnx_put_arg(w, name);
    size_t n = cfx_value_is_seq(v) ? v.u.seq->len : v.kind == CFX_INT;

    if (n > room) {
        onnx_put_fail(w, "%s has %zu items", name, n);
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        cfx_value item = v.kind == CFX_INT ? v : v.u.seq->item[i];
        if (item.kind != CFX_INT)
            onnx_put_fail(w, "%s has an item that is not a number", name);
        to[i] = item.kind == CFX_INT ? item.u.i : 0;
    }
    return n;
}

int64_t onnx_put_axis(onnx_writer *w, const char *name, int rank,
                      int64_t otherwise)
{
    int64_t axis = onnx_put_int(w, name, otherwise);

    return axis < 0 ? axis + (rank ? rank : 1) : axis;
}

/* ---- Constants ---- */

/* The types of the operator set that is written; later ones are floats of 8
 * bits. */
enum { MAX_CODE = 16 };

int onnx_put_code(onnx_writer *w, cfx_dtype type)
{
    cfx_dtype of;

    for (int code = 1; code <= MAX_CODE; code++)
        if (onnx_dtype(&of, code) && of == type)
            return code;
    onnx_put_fail(w, "%s is not written as ONNX", cfx_dtypes[type].name);
    return 0;
}

static void take_name(onnx_writer *w, const char *name)
{
    if (!w->st)
        onnx_put_add(w, &w->taken, name);
}

/* The numbers of a tensor as an initializer; its bytes are borrowed from the
 * scope of constants. */
static const char *add_initializer(onnx_writer *w, const char *name,
                                   const cfx_tensor *t)
{
    Onnx__TensorProto *p = onnx_put_alloc(w, 1, sizeof(*p));
    cfx_tensor *row;

    if (!p || w->st)
        return NULL;
    if (cfx_tensor_is_meta(t)) {
        w->st = cfx_fail(
            w->err, CFX_EWEIGHT,
            "'%s' has no data: give a file of weights with -w, or --random-weights 0",
            name);
        return NULL;
    }
    w->st = cfx_tensor_contiguous(&row, t, w->err);
    if (w->st)
        return NULL;
    cfx_scope_take(&w->keep, cfx_value_of_tensor(row));
    onnx__tensor_proto__init(p);
    p->name = onnx_put_text(w, name);
    p->has_data_type = 1;
    p->data_type = onnx_put_code(w, (cfx_dtype)t->dtype);
    p->n_dims = (size_t)t->rank;
    p->dims = onnx_put_alloc(w, p->n_dims + 1, sizeof(*p->dims));
    for (int i = 0; i < t->rank && p->dims; i++)
        p->dims[i] = cfx_tensor_size(t, i);
    p->has_raw_data = 1;
    p->raw_data.data = row->data;
    p->raw_data.len = (size_t)cfx_tensor_numel(row) *
                      cfx_dtype_size((cfx_dtype)t->dtype);
    if (w->graph.n_initializer == w->initializer_cap) {
        size_t cap = w->initializer_cap ? 2 * w->initializer_cap : 64;
        Onnx__TensorProto **more = onnx_put_alloc(w, cap, sizeof(*more));
        if (!more)
            return NULL;
        if (w->graph.n_initializer)
            memcpy(more, w->graph.initializer,
                   w->graph.n_initializer * sizeof(*more));
        w->graph.initializer = more;
        w->initializer_cap = cap;
    }
    w->graph.initializer[w->graph.n_initializer++] = p;
    if (!w->st)
        take_name(w, p->name);
    return w->st ? NULL : p->name;
}

/* Write a tensor once, under the name by which it is met first. No node has a name
 * with a dot, as parameters of children have. */
static const char *parameter(onnx_writer *w, const cfx_node *n)
{
    const char *path = n->target->text;
    cfx_value v;
    bool added = true;

    w->st = cfx_module_fetch_attr(&v, w->gm, path, w->err);
    if (!w->st && v.kind != CFX_TENSOR)
        onnx_put_fail(w, "%s is not a tensor", path);
    if (w->st)
        return NULL;
    char *key = cfx_arena_strdup(&w->arena, (const char *)&v.u.tensor,
                                 sizeof(v.u.tensor));
    cfx_map_entry *e = key ? cfx_map_put(&w->tensors, key, sizeof(v.u.tensor),
                                         &added)
                           : NULL;
    if (!e) {
        w->st = cfx_no_memory(w->err);
        return NULL;
    }
    if (added)
        e->v.p = (void *)(uintptr_t)add_initializer(
            w, strchr(path, '.') ? path : n->name, v.u.tensor);
    return e->v.p;
}

static const char *temp_name(onnx_writer *w)
{
    const char *name;

    do
        name = onnx_put_numbered(w, w->node->name, '/', ++w->ntemps);
    while (name && onnx_put_has(&w->taken, name));
    return name;
}

static const char *constant_take(onnx_writer *w, cfx_tensor *t)
{
    const char *name = temp_name(w);

    cfx_scope_take(&w->keep, cfx_value_of_tensor(t));
    return name ? add_initializer(w, name, t) : NULL;
}

/* Is a number in the range of an integer type? A fraction is cut. */
static bool holds(cfx_dtype type, cfx_value v)
{
    double span = ldexp(1, cfx_dtypes[type].digits);

    if (v.kind == CFX_FLOAT) {
        double cut = trunc(cfx_value_number(v));
        return cut < span && cut >= (cfx_dtypes[type].is_signed ? -span : 0);
    }
    return v.u.i >= cfx_dtype_least(type) && v.u.i <= cfx_dtype_most(type);
}

static const char *filled(onnx_writer *w, int rank, int64_t n, cfx_value v,
                          cfx_dtype type)
{
    size_t size = cfx_dtype_size(type);
    cfx_tensor *t;

    if (!w->st && cfx_dtypes[type].category == CFX_CAT_INT && !holds(type, v))
        onnx_put_fail(w, "%s does not hold a number of its arguments",
                      cfx_dtypes[type].name);
    if (w->st)
        return NULL;
    w->st = cfx_tensor_new(&t, w->ctx, type, rank, &n, w->err);
    for (int64_t i = 0; !w->st && i < n; i++) {
        char *at = (char *)t->data + (size_t)i * size;
        if (v.kind == CFX_FLOAT)
            cfx_element_set_double(type, at, cfx_value_number(v));
        else
            cfx_element_set_int(type, at, v.u.i);
    }
    return w->st ? NULL : constant_take(w, t);
}

const char *onnx_put_filled(onnx_writer *w, int64_t n, double v,
                            cfx_dtype type)
{
    return filled(w, 1, n, cfx_float(v), type);
}

const char *onnx_put_scalar(onnx_writer *w, double v, cfx_dtype type)
{
    return filled(w, 0, 1, cfx_float(v), type);
}

const char *onnx_put_constant(onnx_writer *w, cfx_value v, cfx_dtype type)
{
    return filled(w, 0, 1, v, type);
}

static const char *row_of(onnx_writer *w, cfx_dtype type, size_t n,
                          const void *items)
{
    int64_t shape[] = {(int64_t)n};
    cfx_tensor *t;

    if (w->st)
        return NULL;
    w->st = cfx_tensor_new(&t, w->ctx, type, 1, shape, w->err);
    if (w->st)
        return NULL;
    if (n)
        memcpy(t->data, items, n * cfx_dtype_size(type));
    return constant_take(w, t);
}

const char *onnx_put_ints(onnx_writer *w, size_t n, const int64_t *items)
{
    return row_of(w, CFX_I64, n, items);
}

const char *onnx_put_one(onnx_writer *w, int64_t v)
{
    return onnx_put_ints(w, 1, &v);
}

const char *onnx_put_floats(onnx_writer *w, size_t n, const float *items)
{
    return row_of(w, CFX_F32, n, items);
}

/* ---- Values ---- */

const char *onnx_put_value(onnx_writer *w, cfx_value v)
{
    const cfx_node *n = v.kind == CFX_NODE ? v.u.node : NULL;
    cfx_map_entry *e;

    if (w->st)
        return NULL;
    if (v.kind == CFX_TENSOR) {
        const char *name = temp_name(w);
        return name ? add_initializer(w, name, v.u.tensor) : NULL;
    }
    if (!n) {
        onnx_put_fail(w, "a %s stands where a tensor should",
                      cfx_kind_name(v.kind));
        return NULL;
    }
    if (n->op == CFX_GET_ATTR)
        return parameter(w, n);
    e = cfx_map_get(&w->names, n->name, strlen(n->name));
    return e ? e->v.p : n->name;
}

const char *onnx_put_self_value(onnx_writer *w)
{
    return onnx_put_value(w, onnx_put_self_arg(w));
}

const char *onnx_put_input(onnx_writer *w, const char *name)
{
    return onnx_put_value(w, onnx_put_arg(w, name));
}

const char *onnx_put_as(onnx_writer *w, cfx_value v, cfx_dtype type)
{
    const cfx_tensor *t = onnx_put_meta(w, v);

    if (w->st)
        return NULL;
    if (v.kind == CFX_NONE || v.kind == CFX_ABSENT)
        return "";
    if (v.kind == CFX_INT || v.kind == CFX_FLOAT || v.kind == CFX_BOOL_VALUE)
        return onnx_put_constant(w, v, type);
    if (v.kind == CFX_SYMINT) {
        const char *x = ONNX_PUT(w, "Squeeze", NULL, onnx_put_dim(w, v.u.dim));
        return type == CFX_I64 ? x : onnx_put_cast(w, x, NULL, type);
    }
    const char *name = onnx_put_value(w, v);
    if (!t)
        onnx_put_fail(w, "it takes a number that is computed");
    return w->st                         ? NULL
           : (cfx_dtype)t->dtype == type ? name
                                         : onnx_put_cast(w, name, NULL, type);
}

const char *onnx_put_whole(onnx_writer *w, cfx_value v, int64_t otherwise)
{
    if (v.kind == CFX_NONE || v.kind == CFX_ABSENT)
        v = cfx_int(otherwise);
    if (v.kind == CFX_SYMINT)
        return onnx_put_dim(w, v.u.dim);
    if (v.kind == CFX_INT || v.kind == CFX_BOOL_VALUE)
        return onnx_put_one(w, v.u.i);
    onnx_put_fail(w, "a %s stands where an integer should",
                  cfx_kind_name((cfx_kind)v.kind));
    return NULL;
}

const char *onnx_put_name(const onnx_writer *w)
{
    return w->node->name;
}

/* A value that has another name than its node. */
static void set_name(onnx_writer *w, const char *own, const char *name)
{
    cfx_map_entry *e = name ? cfx_map_put(&w->names, own, strlen(own), NULL)
                            : NULL;

    if (e)
        e->v.p = (void *)(uintptr_t)name;
    else if (!w->st)
        w->st = cfx_no_memory(w->err);
}

void onnx_put_part(onnx_writer *w, uint32_t i, const char *name)
{
    const char *key = onnx_put_numbered(w, w->node->name, ':', i);

    if (key)
        set_name(w, key, name);
}

const char *onnx_put_part_of(onnx_writer *w, const cfx_node *n, int64_t i)
{
    cfx_value all = onnx_put_meta_value(n);

    if (i < 0 && cfx_value_is_seq(all))
        i += all.u.seq->len;
    const char *key = onnx_put_numbered(w, n->name, ':', i);
    const cfx_map_entry *e = key ? cfx_map_get(&w->names, key, strlen(key))
                                 : NULL;
    if (!e && w->nrefused)
        return n->name; /* The node may be one of them. */
    if (!e)
        onnx_put_fail(w, "there is no part %lld of %s", (long long)i, n->name);
    return e ? e->v.p : NULL;
}

void onnx_put_alias(onnx_writer *w, const char *name)
{
    set_name(w, w->node->name, name);
}

/* ---- Nodes ---- */

static void add_node(onnx_writer *w, Onnx__NodeProto *n)
{
    if (w->graph.n_node == w->node_cap) {
        size_t cap = w->node_cap ? 2 * w->node_cap : 256;
        Onnx__NodeProto **more = onnx_put_alloc(w, cap, sizeof(*more));
        if (!more)
            return;
        if (w->graph.n_node)
            memcpy(more, w->graph.node, w->graph.n_node * sizeof(*more));
        w->graph.node = more;
        w->node_cap = cap;
    }
    w->graph.node[w->graph.n_node++] = n;
}

/* Outputs that a node has room for; with more the room is doubled. */
enum { OUTPUTS = 4 };

Onnx__NodeProto *onnx_put_node(onnx_writer *w, const char *op, const char *out,
                               const char *const in[ONNX_PUT_MAX])
{
    Onnx__NodeProto *n = onnx_put_alloc(w, 1, sizeof(*n));
    size_t nin = 0;

    if (!n || w->st)
        return NULL;
    while (nin < ONNX_PUT_MAX && in[nin])
        nin++;
    while (nin && !*in[nin - 1])
        nin--;
    onnx__node_proto__init(n);
    n->op_type = onnx_put_text(w, op);
    n->name = onnx_put_text(w, out ? out : temp_name(w));
    n->input = onnx_put_alloc(w, nin + 1, sizeof(*n->input));
    n->output = onnx_put_alloc(w, OUTPUTS, sizeof(*n->output));
    for (size_t i = 0; i < nin && !w->st; i++)
        n->input[n->n_input++] = onnx_put_text(w, in[i]);
    if (w->st)
        return NULL;
    n->output[n->n_output++] = n->name;
    add_node(w, n);
    take_name(w, n->name);
    return w->st ? NULL : n;
}

const char *onnx_put_more(onnx_writer *w, Onnx__NodeProto *n)
{
    const char *name = n ? temp_name(w) : NULL;

    if (!name)
        return NULL;
    if (n->n_output >= OUTPUTS && !(n->n_output & (n->n_output - 1))) {
        char **room = onnx_put_alloc(w, 2 * n->n_output, sizeof(*room));
        if (!room)
            return NULL;
        memcpy(room, n->output, n->n_output * sizeof(*room));
        n->output = room;
    }
    n->output[n->n_output++] = (char *)(uintptr_t)name;
    take_name(w, name);
    return w->st ? NULL : name;
}

const char *onnx_put_op(onnx_writer *w, const char *op, const char *out,
                        const char *const in[ONNX_PUT_MAX])
{
    return onnx_put_out(onnx_put_node(w, op, out, in));
}

static Onnx__AttributeProto *add_attribute(onnx_writer *w, Onnx__NodeProto *n,
                                           const char *name, int type)
{
    Onnx__AttributeProto *a = n && !w->st ? onnx_put_alloc(w, 1, sizeof(*a))
                                          : NULL;

    if (!a)
        return NULL;
    if (!n->attribute)
        n->attribute = onnx_put_alloc(w, ONNX_PUT_MAX, sizeof(*n->attribute));
    assert(n->n_attribute < ONNX_PUT_MAX);
    if (w->st)
        return NULL;
    onnx__attribute_proto__init(a);
    a->name = onnx_put_text(w, name);
    a->has_type = 1;
    a->type = type;
    n->attribute[n->n_attribute++] = a;
    return a;
}

/* ONNX's AttributeType. */
enum { A_FLOAT = 1, A_INT = 2, A_STRING = 3, A_INTS = 7, A_STRINGS = 8 };

void onnx_put_attr_int(onnx_writer *w, Onnx__NodeProto *n, const char *name,
                       int64_t v)
{
    Onnx__AttributeProto *a = add_attribute(w, n, name, A_INT);

    if (a) {
        a->has_i = 1;
        a->i = v;
    }
}

void onnx_put_attr_ints(onnx_writer *w, Onnx__NodeProto *n, const char *name,
                        size_t count, const int64_t *v)
{
    Onnx__AttributeProto *a = add_attribute(w, n, name, A_INTS);

    if (!a)
        return;
    a->ints = onnx_put_alloc(w, count, sizeof(*a->ints));
    if (a->ints && count)
        memcpy(a->ints, v, count * sizeof(*v));
    a->n_ints = a->ints ? count : 0;
}

void onnx_put_attr_float(onnx_writer *w, Onnx__NodeProto *n, const char *name,
                         double v)
{
    Onnx__AttributeProto *a = add_attribute(w, n, name, A_FLOAT);

    if (a) {
        a->has_f = 1;
        a->f = (float)v;
    }
}

void onnx_put_attr_text(onnx_writer *w, Onnx__NodeProto *n, const char *name,
                        const char *v)
{
    Onnx__AttributeProto *a = add_attribute(w, n, name, A_STRING);

    if (a) {
        a->has_s = 1;
        a->s.data = (uint8_t *)onnx_put_text(w, v);
        a->s.len = a->s.data ? strlen(v) : 0;
    }
}

void onnx_put_attr_texts(onnx_writer *w, Onnx__NodeProto *n, const char *name,
                         size_t count, const char *v)
{
    ProtobufCBinaryData *list = onnx_put_alloc(w, count, sizeof(*list));
    Onnx__AttributeProto *a = add_attribute(w, n, name, A_STRINGS);
    char *text = onnx_put_text(w, v);

    if (!a || !list || !text)
        return;
    for (size_t i = 0; i < count; i++)
        list[i] = (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
    a->strings = list;
    a->n_strings = count;
}

const char *onnx_put_cast(onnx_writer *w, const char *x, const char *out,
                          cfx_dtype type)
{
    Onnx__NodeProto *n = ONNX_NODE(w, "Cast", out, x);

    onnx_put_attr_int(w, n, "to", onnx_put_code(w, type));
    return onnx_put_out(n);
}

const char *onnx_put_row(onnx_writer *w, const char *x)
{
    return ONNX_PUT(w, "Reshape", NULL, x, onnx_put_one(w, -1));
}
