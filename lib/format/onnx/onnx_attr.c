/*
 * onnx_attr -- attributes and tensors among a node's inputs, as rules ask for them.
 */
#include <stdarg.h>

#include "format/onnx/onnx.h"
#include "value/texts.h"

cfx_value onnx_fail(onnx_node *n, cfx_status code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (!cfx_scope_failed(n->s))
        cfx_vfail(&n->s->error, code, fmt, ap);
    va_end(ap);
    return cfx_none();
}

/* ---- Attributes ---- */

static const Onnx__AttributeProto *among(Onnx__AttributeProto **list, size_t n,
                                         const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (list[i]->name && !strcmp(list[i]->name, name))
            return list[i];
    return NULL;
}

/* In a function's body an attribute may stand for one of the function's call,
 * which may stand for another. */
const Onnx__AttributeProto *onnx_attr(const onnx_node *n, const char *name)
{
    const Onnx__AttributeProto *a = among(n->proto->attribute,
                                          n->proto->n_attribute, name);
    const onnx_frame *f = n->importer->frame;

    for (size_t i = 0; a && i < n->proto->n_attribute; i++)
        n->seen[i] = n->seen[i] || n->proto->attribute[i] == a;
    while (a && a->ref_attr_name && *a->ref_attr_name) {
        const char *ref = a->ref_attr_name;
        if (!f || !f->call)
            return NULL;
        a = among(f->call->attribute, f->call->n_attribute, ref);
        if (!a)
            return among(f->function->attribute_proto,
                         f->function->n_attribute_proto, ref);
        f = f->caller;
    }
    return a;
}

int64_t onnx_attr_int(onnx_node *n, const char *name, int64_t otherwise)
{
    const Onnx__AttributeProto *a = onnx_attr(n, name);

    return a && a->has_i ? a->i : otherwise;
}

double onnx_attr_float(onnx_node *n, const char *name, double otherwise)
{
    const Onnx__AttributeProto *a = onnx_attr(n, name);

    return a && a->has_f ? (double)a->f : otherwise;
}

bool onnx_attr_is(const onnx_node *n, const char *name, const char *word,
                  const char *otherwise)
{
    const Onnx__AttributeProto *a = onnx_attr(n, name);

    if (!a || !a->has_s)
        return !strcmp(word, otherwise);
    return a->s.len == strlen(word) && !memcmp(a->s.data, word, a->s.len);
}

const char *onnx_attr_text(onnx_node *n, const char *name,
                           const char *otherwise)
{
    const Onnx__AttributeProto *a = onnx_attr(n, name);
    char *text;

    if (!a || !a->has_s)
        return otherwise;
    text = cfx_arena_strdup(&n->importer->r.arena, (const char *)a->s.data,
                            a->s.len);
    if (!text)
        cfx_no_memory(&n->s->error);
    return text ? text : otherwise;
}

size_t onnx_attr_ints(const onnx_node *n, const char *name,
                      const int64_t **out)
{
    const Onnx__AttributeProto *a = onnx_attr(n, name);

    *out = a ? a->ints : NULL;
    return a ? a->n_ints : 0;
}

cfx_value onnx_attr_str(onnx_node *n, const char *name)
{
    const Onnx__AttributeProto *a = onnx_attr(n, name);

    if (!a || !a->has_s)
        return CFX_NOTHING;
    cfx_value v = cfx_str_new(n->s->ctx, (const char *)a->s.data, a->s.len);
    if (v.kind == CFX_ABSENT)
        cfx_no_memory(&n->s->error);
    return cfx_scope_take(n->s, v);
}

Onnx__TensorProto *onnx_attr_tensor(const onnx_node *n, const char *name)
{
    const Onnx__AttributeProto *a = onnx_attr(n, name);

    return a ? a->t : NULL;
}

cfx_value onnx_attr_texts(onnx_node *n, const char *name)
{
    const Onnx__AttributeProto *a = onnx_attr(n, name);
    cfx_value *item = a ? onnx_alloc(n->s, a->n_strings + 1, sizeof(*item))
                        : NULL;

    if (!item)
        return CFX_NOTHING;
    for (size_t i = 0; i < a->n_strings; i++) {
        const ProtobufCBinaryData *text = &a->strings[i];
        item[i] = cfx_str_new(n->s->ctx, (const char *)text->data, text->len);
        if (item[i].kind == CFX_ABSENT) {
            cfx_no_memory(&n->s->error);
            return CFX_NOTHING;
        }
        cfx_scope_take(n->s, item[i]);
    }
    return onnx_arg(n->s, a->n_strings, item);
}

/* ---- Rules that call others ---- */

onnx_node *onnx_node_with(onnx_node *n, size_t nin, const cfx_value *in)
{
    static const Onnx__NodeProto bare = ONNX__NODE_PROTO__INIT;
    enum { ROOM = 8 }; /* inputs that are left out, results, attributes */
    onnx_node *call = onnx_alloc(n->s, 1, sizeof(*call));
    cfx_value *v = onnx_alloc(n->s, nin + 2 * ROOM, sizeof(*v));
    bool *seen = onnx_alloc(n->s, ROOM, sizeof(*seen));

    if (!call || !v || !seen)
        return NULL;
    for (size_t i = 0; i < nin; i++)
        v[i] = in[i].kind == CFX_ABSENT ? cfx_none() : in[i];
    *call = (onnx_node){.importer = n->importer,
                        .s = n->s,
                        .proto = &bare,
                        .rule = n->rule,
                        .opset = ONNX_NEWEST,
                        .nin = nin,
                        .nout = 1,
                        .in = v,
                        .out = v + nin + ROOM,
                        .seen = seen,
                        .widened = CFX_BOOL};
    return call;
}

cfx_value onnx_apply(onnx_node *n, onnx_rule_fn *rule, size_t nin,
                     const cfx_value *in)
{
    onnx_node *call = onnx_node_with(n, nin, in);

    return call ? rule(call) : CFX_NOTHING;
}

cfx_value onnx_with_inputs(onnx_node *n, onnx_rule_fn *rule, size_t nin,
                           const cfx_value *in)
{
    onnx_node *call = onnx_node_with(n, nin, in);

    if (!call)
        return CFX_NOTHING;
    call->proto = n->proto;
    call->opset = n->opset;
    call->seen = n->seen;
    call->nout = n->nout;
    call->out = n->out;
    return rule(call);
}

/* ---- Strings ---- */

bool onnx_is_texts(cfx_scope *s, cfx_value v)
{
    return cfx_texts_are(v) || onnx_marked_type(s, v) == ONNX_STRING;
}

cfx_value onnx_texts(onnx_node *n, size_t i)
{
    if (onnx_has(n, i) && onnx_is_texts(n->s, n->in[i]))
        return n->in[i];
    return onnx_fail(n, CFX_EGRAPH, "its input %zu is %s", i,
                     onnx_has(n, i) ? "no strings" : "missing");
}

/* ---- Tensors ---- */

/* An int or a symbolic int as a tensor of no axis. */
static cfx_value of_item(cfx_scope *s, cfx_value v)
{
    if (v.kind == CFX_INT)
        return onnx_int_tensor(s, 0, 1, &v.u.i);
    return cfx_scalar_tensor(s, v, .dtype = cfx_value_of_dtype(CFX_I64));
}

static cfx_value of_tuple(cfx_scope *s, const cfx_seq *seq)
{
    int64_t *known = onnx_alloc(s, seq->len + 1, sizeof(*known));
    cfx_value *item = onnx_alloc(s, seq->len + 1, sizeof(*item));
    bool symbolic = false;

    for (uint32_t i = 0; known && item && i < seq->len; i++) {
        symbolic = symbolic || seq->item[i].kind != CFX_INT;
        known[i] = seq->item[i].kind == CFX_INT ? seq->item[i].u.i : 0;
    }
    if (!known || !item || !symbolic)
        return item ? onnx_int_tensor(s, 1, seq->len, known) : cfx_none();
    for (uint32_t i = 0; i < seq->len; i++)
        item[i] = of_item(s, seq->item[i]);
    return cfx_stack(s, onnx_arg(s, seq->len, item));
}

cfx_value onnx_as_tensor(cfx_scope *s, cfx_value v)
{
    if (v.kind == CFX_TUPLE)
        return of_tuple(s, v.u.seq);
    if (v.kind == CFX_INT || onnx_is_symint(s, v))
        return of_item(s, v);
    bool texts = onnx_is_texts(s, v);
    if ((v.kind == CFX_TENSOR || v.kind == CFX_NODE) && !texts)
        return v;
    return cfx_scope_fail(s, texts ? CFX_EUNSUPPORTED : CFX_EGRAPH,
                          "%s where a tensor of numbers should",
                          texts                ? "strings stand"
                          : v.kind == CFX_LIST ? "a sequence stands"
                                               : "a value left out stands");
}

cfx_value onnx_stored_tensor(onnx_node *n, size_t i)
{
    if (!onnx_has(n, i))
        return onnx_fail(n, CFX_EGRAPH, "its input %zu is missing", i);
    return onnx_as_tensor(n->s, n->in[i]);
}

/* ---- Unsigned integers of more than 8 bits ---- */

/* The type in which a tensor is computed: its own, or a wider one. */
static cfx_dtype wide_type(cfx_scope *s, cfx_value v, cfx_dtype *own)
{
    cfx_value meta = onnx_meta(s, v);

    *own = meta.kind == CFX_TENSOR ? (cfx_dtype)meta.u.tensor->dtype
                                   : CFX_BOOL;
    return *own == CFX_U16                      ? CFX_I32
           : *own == CFX_U32 || *own == CFX_U64 ? CFX_I64
                                                : *own;
}

/* Between numbers of uint64 and those of int64 in the same order. */
static cfx_value shifted(const onnx_node *n, cfx_value v)
{
    return n->widened == CFX_U64 && n->uint64 == ONNX_ORDER
               ? cfx_bitwise_xor(n->s, v, cfx_int(INT64_MIN))
               : v;
}

cfx_value onnx_tensor(onnx_node *n, size_t i)
{
    cfx_value v = onnx_stored_tensor(n, i);
    cfx_dtype own, wide = wide_type(n->s, v, &own);

    if (wide == own)
        return v;
    if (own == CFX_U64 && n->uint64 == ONNX_NO_UINT64)
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "it computes in uint64, as torch does not");
    n->widened = own;
    return shifted(n, cfx_to(n->s, v, cfx_value_of_dtype(wide)));
}

cfx_value onnx_narrowed(onnx_node *n, cfx_value v)
{
    cfx_value meta = onnx_meta(n->s, v);
    cfx_dtype wide = n->widened == CFX_U16 ? CFX_I32 : CFX_I64;

    if (n->widened == CFX_BOOL || cfx_scope_failed(n->s) ||
        meta.kind != CFX_TENSOR || meta.u.tensor->dtype != wide)
        return v;
    return cfx_to(n->s, shifted(n, v), cfx_value_of_dtype(n->widened));
}

cfx_value onnx_optional(onnx_node *n, size_t i)
{
    return onnx_has(n, i) ? onnx_tensor(n, i) : CFX_NOTHING;
}

const cfx_tensor *onnx_meta_tensor(onnx_node *n, cfx_value v)
{
    cfx_value meta = onnx_meta(n->s, v);

    if (meta.kind == CFX_TENSOR)
        return meta.u.tensor;
    onnx_fail(n, CFX_EUNSUPPORTED,
              "its input has a type and shape that the file does not tell");
    return NULL;
}

int onnx_rank(onnx_node *n, cfx_value v)
{
    const cfx_tensor *t = cfx_scope_failed(n->s) ? NULL
                                                 : onnx_meta_tensor(n, v);

    return t ? t->rank : -1;
}

cfx_dtype onnx_type_of(onnx_node *n, cfx_value v)
{
    const cfx_tensor *t = cfx_scope_failed(n->s) ? NULL
                                                 : onnx_meta_tensor(n, v);

    return t ? (cfx_dtype)t->dtype : CFX_F32;
}

bool onnx_is_int(onnx_node *n, cfx_value v)
{
    return !cfx_dtype_is_float(onnx_type_of(n, v));
}

int onnx_axis(onnx_node *n, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank) {
        onnx_fail(n, CFX_EINVAL, "there is no axis %lld of %d",
                  (long long)axis, rank);
        return 0;
    }
    return (int)(axis < 0 ? axis + rank : axis);
}

int onnx_attr_axis(onnx_node *n, cfx_value x, int64_t otherwise)
{
    int rank = onnx_rank(n, x);

    return rank < 0 ? 0
                    : onnx_axis(n, onnx_attr_int(n, "axis", otherwise), rank);
}

cfx_value onnx_size(cfx_scope *s, cfx_value x, int axis)
{
    cfx_value meta = onnx_meta(s, x);

    if (meta.kind == CFX_TENSOR && axis < meta.u.tensor->rank &&
        cfx_dim_is_int(meta.u.tensor->shape[axis]))
        return cfx_int(cfx_tensor_size(meta.u.tensor, axis));
    return cfx_sym_size(s, x, .dim = cfx_int(axis));
}

cfx_value onnx_extents(cfx_scope *s, cfx_value x, int from, int to)
{
    cfx_value v[CFX_MAX_RANK];

    for (int i = from; i < to; i++)
        v[i - from] = onnx_size(s, x, i);
    return onnx_arg(s, (size_t)(to - from), v);
}

cfx_value onnx_slice(cfx_scope *s, cfx_value x, int axis, int64_t from,
                     int64_t to)
{
    return cfx_slice(s, x, cfx_int(axis), cfx_int(from), cfx_int(to),
                     cfx_int(1));
}

cfx_value onnx_along(cfx_scope *s, cfx_value row, int axis, int rank)
{
    cfx_value shape[CFX_MAX_RANK + 1];

    for (int i = 0; i < rank; i++)
        shape[i] = cfx_int(i == axis ? -1 : 1);
    return cfx_reshape(s, row, onnx_arg(s, (size_t)rank, shape));
}

int64_t onnx_known_size(onnx_node *n, cfx_value x, int axis)
{
    const cfx_tensor *t = cfx_scope_failed(n->s) ? NULL
                                                 : onnx_meta_tensor(n, x);

    if (!t)
        return 0;
    if (axis < t->rank && cfx_dim_is_int(t->shape[axis]))
        return cfx_tensor_size(t, axis);
    onnx_fail(n, CFX_EUNDECIDED,
              "it needs extent %d of its input as a number, not a symbol",
              axis);
    return 0;
}
