/*
 * seq -- Python operators on tuples, lists, strings and values of any kind.
 *
 * Operators on values of any kind come after those on numbers and tensors with
 * equal names, and report unsupported operands.
 */
#include <stdio.h>
#include <string.h>

#include "op/infer.h"

static cfx_status unsupported(cfx_call *call, const char *sign)
{
    return cfx_call_fail(call, CFX_EINVAL,
                         "unsupported operand type(s) for %s: '%s' and '%s'",
                         sign, cfx_kind_name(call->in[0].kind),
                         cfx_kind_name(call->in[1].kind));
}

static bool is_int(cfx_value v)
{
    return v.kind == CFX_INT || v.kind == CFX_BOOL_VALUE;
}

static bool is_number(cfx_value v)
{
    return is_int(v) || v.kind == CFX_SYMINT || v.kind == CFX_FLOAT;
}

/* ---- Joining and repeating ---- */

/* `times` copies of the items of a, then those of b. */
static cfx_status join_items(cfx_call *call, cfx_value a, int64_t times,
                             const cfx_seq *b)
{
    size_t na = a.u.seq->len, nb = b ? b->len : 0;
    if (times < 0)
        times = 0;
    if (na && (uint64_t)times > (UINT32_MAX / sizeof(cfx_value) - nb) / na)
        return cfx_call_fail(call, CFX_ENOMEM,
                             "%lld times %zu items are too many",
                             (long long)times, na);
    size_t n = na * (size_t)times + nb, at = 0;
    cfx_value *item = cfx_alloc(call->ctx, n * sizeof(*item));
    if (!item)
        return cfx_no_memory(call->err);
    for (int64_t t = 0; t < times && na; t++, at += na)
        memcpy(item + at, a.u.seq->item, na * sizeof(*item));
    if (nb)
        memcpy(item + at, b->item, nb * sizeof(*item));
    cfx_value v = cfx_seq_new(call->ctx, (cfx_kind)a.kind, n, item, NULL);
    cfx_free(call->ctx, item, n * sizeof(*item));
    return cfx_call_return_take(call, v);
}

static cfx_status join_texts(cfx_call *call, const cfx_string *a,
                             int64_t times, const cfx_string *b)
{
    size_t na = a->len, nb = b ? b->len : 0;
    if (times < 0)
        times = 0;
    if (na && (uint64_t)times > (UINT32_MAX - nb) / na / 2)
        return cfx_call_fail(call, CFX_ENOMEM,
                             "%lld times %zu bytes are too many",
                             (long long)times, na);
    size_t n = na * (size_t)times + nb, at = 0;
    char *text = cfx_alloc(call->ctx, n + 1);
    if (!text)
        return cfx_no_memory(call->err);
    for (int64_t t = 0; t < times && na; t++, at += na)
        memcpy(text + at, a->text, na);
    if (nb)
        memcpy(text + at, b->text, nb);
    cfx_value v = cfx_str_new(call->ctx, text, n);
    cfx_free(call->ctx, text, n + 1);
    return cfx_call_return_take(call, v);
}

static cfx_status add_infer(cfx_call *call)
{
    cfx_value a = call->in[0], b = call->in[1];
    if (cfx_value_is_seq(a) && a.kind == b.kind)
        return join_items(call, a, 1, b.u.seq);
    if (a.kind == CFX_STR && b.kind == CFX_STR)
        return join_texts(call, a.u.str, 1, b.u.str);
    return unsupported(call, "+");
}

static cfx_status mul_infer(cfx_call *call)
{
    cfx_value a = call->in[0], n = call->in[1];
    if (is_int(a) || a.kind == CFX_TENSOR) {
        n = a;
        a = call->in[1];
    }
    cfx_status st = cfx_value_is_seq(a) || a.kind == CFX_STR
                        ? cfx_infer_index(call, n, &n)
                        : CFX_OK;
    if (st)
        return st;
    if (n.kind == CFX_SYMINT)
        return cfx_call_fail(
            call, CFX_EUNSUPPORTED,
            "how often a %s is repeated depends on the numbers",
            cfx_kind_name(a.kind));
    if (cfx_value_is_seq(a) && is_int(n))
        return join_items(call, a, n.u.i, NULL);
    if (a.kind == CFX_STR && is_int(n))
        return join_texts(call, a.u.str, n.u.i, NULL);
    return unsupported(call, "*");
}

#define ANY_TWO(name, aliases_, infer_, doc_)                                 \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(any(a) self, any(a) other) -> any(a)",              \
        .aliases = aliases_,                                                  \
        .doc = doc_,                                                          \
        .infer = infer_,                                                      \
    };

ANY_TWO(py_add, "operator.add operator.iadd operator.concat operator.iconcat",
        add_infer, "One tuple, list or str after another.")
ANY_TWO(py_mul, "operator.mul operator.imul", mul_infer,
        "A tuple, list or str several times over.")

/* ---- Comparing ---- */

/*
 * Python's comparison: -1, 0, 1 for less, equal, greater, 2 for different
 * values without an order; -2 after failing the call. Tuples nest no deeper
 * than CFX_MAX_DEPTH.
 */
static int compare(cfx_call *call, cfx_value a, cfx_value b);

static int compare_numbers(cfx_call *call, cfx_value a, cfx_value b)
{
    if (a.kind == CFX_SYMINT || b.kind == CFX_SYMINT) {
        cfx_dim x = cfx_value_dim(a), y = cfx_value_dim(b);
        if (cfx_dim_is_bad(x) || cfx_dim_is_bad(y))
            return 2;
        if (cfx_dim_eq(call->env, x, y))
            return 0;
        return cfx_dim_known_le(call->env, x, y) ? -1 : 1;
    }
    long double x = a.kind == CFX_FLOAT ? (long double)a.u.f
                                        : (long double)a.u.i;
    long double y = b.kind == CFX_FLOAT ? (long double)b.u.f
                                        : (long double)b.u.i;
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

static int compare_items(cfx_call *call, const cfx_seq *a, const cfx_seq *b)
{
    for (uint32_t i = 0; i < a->len && i < b->len; i++) {
        int c = compare(call, a->item[i], b->item[i]);
        if (c)
            return c;
    }
    return a->len < b->len ? -1 : a->len > b->len;
}

static int compare_texts(const cfx_string *a, const cfx_string *b)
{
    int c = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);
    if (c)
        return c < 0 ? -1 : 1;
    return a->len < b->len ? -1 : a->len > b->len;
}

static int compare(cfx_call *call, cfx_value a, cfx_value b)
{
    if (is_number(a) && is_number(b))
        return compare_numbers(call, a, b);
    if (a.kind == CFX_TENSOR && b.kind == CFX_TENSOR &&
        a.u.tensor != b.u.tensor) {
        cfx_call_fail(call, CFX_EUNSUPPORTED,
                      "the truth of a comparison of tensors is not known");
        return -2;
    }
    if (a.kind != b.kind)
        return 2;
    if (cfx_value_is_seq(a))
        return compare_items(call, a.u.seq, b.u.seq);
    if (a.kind == CFX_STR)
        return compare_texts(a.u.str, b.u.str);
    return cfx_value_equal(a, b) ? 0 : 2;
}

enum { EQ, NE, LT, LE, GT, GE };

static cfx_status relation_infer(cfx_call *call)
{
    static const char *const sign[] = {"==", "!=", "<", "<=", ">", ">="};
    cfx_value a = call->in[0], b = call->in[1];
    int code = call->op->code;
    int c = compare(call, a, b);
    if (c == -2)
        return CFX_EUNSUPPORTED;
    if (code <= NE)
        return cfx_call_return_take(call, cfx_bool((c == 0) == (code == EQ)));
    bool ordered = a.kind == b.kind &&
                   (cfx_value_is_seq(a) || a.kind == CFX_STR) && c != 2;
    if (!ordered)
        return unsupported(call, sign[code]);
    bool holds = code == LT   ? c < 0
                 : code == LE ? c <= 0
                 : code == GT ? c > 0
                              : c >= 0;
    return cfx_call_return_take(call, cfx_bool(holds));
}

#define ANY_RELATION(name, code_, alias, doc_)                                \
    const cfx_op cfx_op__##name = {                                           \
        .schema = #name "(any self, any other) -> any",                       \
        .aliases = alias,                                                     \
        .doc = doc_,                                                          \
        .code = code_,                                                        \
        .infer = relation_infer,                                              \
    };

ANY_RELATION(py_eq, EQ, "operator.eq", "Are two values equal?")
ANY_RELATION(py_ne, NE, "operator.ne", "Are two values unequal?")
ANY_RELATION(py_lt, LT, "operator.lt", "Is a tuple or str less?")
ANY_RELATION(py_le, LE, "operator.le", "Is a tuple or str not more?")
ANY_RELATION(py_gt, GT, "operator.gt", "Is a tuple or str more?")
ANY_RELATION(py_ge, GE, "operator.ge", "Is a tuple or str not less?")

/* Values of one word are one object if the word is; objects, if they are the
 * same. */
static bool same_object(cfx_value a, cfx_value b)
{
    if (a.kind != b.kind)
        return false;
    if (a.kind == CFX_NONE || a.kind == CFX_ELLIPSIS)
        return true;
    if (a.kind == CFX_DTYPE || a.kind == CFX_MEMORY_FORMAT)
        return cfx_value_equal(a, b);
    return a.u.i == b.u.i;
}

static cfx_status is_infer(cfx_call *call)
{
    bool same = same_object(call->in[0], call->in[1]);
    return cfx_call_return_take(call, cfx_bool(same == !call->op->code));
}

const cfx_op cfx_op__py_is = {
    .schema = "py_is(any self, any other) -> bool",
    .aliases = "operator.is_",
    .doc = "Are two values one object?",
    .infer = is_infer,
};

const cfx_op cfx_op__py_is_not = {
    .schema = "py_is_not(any self, any other) -> bool",
    .aliases = "operator.is_not",
    .doc = "Are two values not one object?",
    .code = 1,
    .infer = is_infer,
};

/* ---- Truth ---- */

static cfx_status truth_of_tensor(cfx_call *call, const cfx_tensor *t,
                                  bool *out)
{
    if (!t->data || call->meta)
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "the truth of a tensor depends on its numbers");
    if (cfx_tensor_numel(t) != 1)
        return cfx_call_fail(
            call, CFX_EINVAL,
            "Boolean value of Tensor with %s value%s is ambiguous",
            cfx_tensor_numel(t) ? "more than one" : "no",
            cfx_tensor_numel(t) ? "" : "s");
    cfx_dtype type = (cfx_dtype)t->dtype;
    *out = cfx_dtype_is_float(type) ? cfx_element_double(type, t->data) != 0
                                    : cfx_element_int(type, t->data) != 0;
    return CFX_OK;
}

static cfx_status truth(cfx_call *call, cfx_value v, bool *out)
{
    *out = true;
    if (v.kind == CFX_TENSOR)
        return truth_of_tensor(call, v.u.tensor, out);
    if (v.kind == CFX_SYMINT)
        *out = cfx_dim_ne(call->env, v.u.dim, cfx_dim_int(0));
    else if (v.kind == CFX_FLOAT)
        *out = v.u.f != 0;
    else if (is_int(v))
        *out = v.u.i != 0;
    else if (v.kind == CFX_STR)
        *out = v.u.str->len;
    else if (cfx_value_is_seq(v) || v.kind == CFX_DICT)
        *out = v.u.seq->len;
    else if (cfx_value_is_none(v))
        *out = false;
    return CFX_OK;
}

static cfx_status truth_infer(cfx_call *call)
{
    bool holds = false;
    cfx_status st = truth(call, call->in[0], &holds);
    return st ? st
              : cfx_call_return_take(call, cfx_bool(holds == !call->op->code));
}

const cfx_op cfx_op__py_truth = {
    .schema = "py_truth(any self) -> bool",
    .aliases =
        "operator.truth builtins.bool Tensor.__bool__ Tensor.is_nonzero torch.is_nonzero",
    .doc = "Is a value true?",
    .infer = truth_infer,
};

const cfx_op cfx_op__py_not = {
    .schema = "py_not(any self) -> bool",
    .aliases = "operator.not_ torch.sym_not",
    .doc = "Is a value false?",
    .code = 1,
    .infer = truth_infer,
};

static cfx_status assert_infer(cfx_call *call)
{
    bool holds = true;
    /* A result that depends on data is left to the run. */
    if (call->in[0].kind == CFX_TENSOR && call->meta)
        return cfx_call_return_take(call, cfx_none());
    cfx_status st = truth(call, call->in[0], &holds);
    if (st)
        return st;
    if (holds)
        return cfx_call_return_take(call, cfx_none());
    const char *text = cfx_call_str(call, 1);
    return cfx_fail(call->err, CFX_EINVAL, "%s",
                    text && *text ? text : "AssertionError");
}

const cfx_op cfx_op__py_assert = {
    .schema = "py_assert(any condition, any message='') -> any",
    .aliases =
        "torch._assert torch._check operator.assert_ torch._assert_scalar aten._assert_scalar.default torch._assert_async aten._assert_async.default aten._assert_async.msg",
    .doc = "Fail with a message unless a condition is true.",
    .flags = CFX_OP_EFFECT,
    .infer = assert_infer,
};

static cfx_status assert_none_infer(cfx_call *call)
{
    if (call->in[0].kind == CFX_NONE)
        return cfx_call_return_take(call, cfx_none());
    return cfx_fail(call->err, CFX_EINVAL, "%s", cfx_call_str(call, 1));
}

const cfx_op cfx_op__py_assert_none = {
    .schema = "py_assert_none(any value, str message) -> any",
    .aliases = "torch.fx._symbolic_trace._assert_is_none",
    .doc = "Fail with a message unless a value is None.",
    .flags = CFX_OP_EFFECT,
    .infer = assert_none_infer,
};

static cfx_status ite_infer(cfx_call *call)
{
    bool holds = false;
    cfx_status st = truth(call, call->in[0], &holds);
    return st ? st
              : cfx_call_return_take(call,
                                     cfx_value_ref(call->in[holds ? 1 : 2]));
}

const cfx_op cfx_op__py_ite = {
    .schema = "py_ite(any b, any(a) t, any(a) f) -> any(a)",
    .aliases = "torch.sym_ite",
    .doc = "One value or another, by a condition.",
    .infer = ite_infer,
};

/* ---- Length and membership ---- */

static cfx_status wrong_kind(cfx_call *call, const char *what)
{
    return cfx_call_fail(call, CFX_EINVAL, "object of type '%s' %s",
                         cfx_kind_name(call->in[0].kind), what);
}

/* Items of range(start, stop, step); a symbol has no length. */
static cfx_status range_length(cfx_call *call, const cfx_seq *r, int64_t *n)
{
    for (uint32_t i = 0; i < 3; i++)
        if (i >= r->len || !is_int(r->item[i]))
            return wrong_kind(call, "has no known len()");
    int64_t from = r->item[0].u.i, to = r->item[1].u.i, by = r->item[2].u.i;
    if (!by || from < -CFX_DIM_MAX || from > CFX_DIM_MAX ||
        to < -CFX_DIM_MAX || to > CFX_DIM_MAX || by < -CFX_DIM_MAX ||
        by > CFX_DIM_MAX)
        return wrong_kind(call, "is out of range");
    *n = by > 0 ? (to - from + (by - 1)) / by : (from - to + (-by - 1)) / -by;
    if (*n < 0 || (by > 0 ? from >= to : from <= to))
        *n = 0;
    return CFX_OK;
}

static cfx_status len_infer(cfx_call *call)
{
    cfx_value v = call->in[0];
    int64_t n = 0;
    if (v.kind == CFX_TENSOR)
        return v.u.tensor->rank
                   ? cfx_call_return_take(
                         call, cfx_value_of_dim(v.u.tensor->shape[0]))
                   : cfx_call_fail(call, CFX_EINVAL, "len() of a 0-d tensor");
    if (v.kind == CFX_STR)
        return cfx_call_return_take(call, cfx_int(v.u.str->len));
    if (cfx_value_is_seq(v))
        return cfx_call_return_take(call, cfx_int(v.u.seq->len));
    if (v.kind == CFX_DICT)
        return cfx_call_return_take(call, cfx_int(v.u.seq->len / 2));
    cfx_status st = v.kind == CFX_RANGE ? range_length(call, v.u.seq, &n)
                                        : wrong_kind(call, "has no len()");
    return st ? st : cfx_call_return_take(call, cfx_int(n));
}

const cfx_op cfx_op__py_len = {
    .schema = "py_len(any self) -> any",
    .aliases = "builtins.len operator.length_hint Tensor.__len__",
    .doc = "The number of items; of a tensor, its first extent.",
    .infer = len_infer,
};

static cfx_status contains_infer(cfx_call *call)
{
    cfx_value v = call->in[0], item = call->in[1];
    if (v.kind == CFX_STR && item.kind == CFX_STR)
        return cfx_call_return_take(
            call, cfx_bool(strstr(v.u.str->text, item.u.str->text)));
    if (!cfx_value_is_seq(v) && v.kind != CFX_DICT)
        return wrong_kind(call, "is not iterable");
    uint32_t step = v.kind == CFX_DICT ? 2 : 1;
    for (uint32_t i = 0; i < v.u.seq->len; i += step) {
        int c = compare(call, v.u.seq->item[i], item);
        if (c == -2)
            return CFX_EUNSUPPORTED;
        if (!c)
            return cfx_call_return_take(call, cfx_bool(true));
    }
    return cfx_call_return_take(call, cfx_bool(false));
}

const cfx_op cfx_op__py_contains = {
    .schema = "py_contains(any self, any item) -> bool",
    .aliases = "operator.contains",
    .doc = "Is a value among the items?",
    .infer = contains_infer,
};

/* ---- Constructors ---- */

static cfx_status reseq(cfx_call *call, cfx_kind kind)
{
    cfx_value v = call->in[0];
    int64_t n = 0;
    if (cfx_value_is_seq(v))
        return cfx_call_return_take(
            call,
            cfx_seq_new(call->ctx, kind, v.u.seq->len, v.u.seq->item, NULL));
    if (v.kind != CFX_RANGE)
        return wrong_kind(call, "is not iterable");
    cfx_status st = range_length(call, v.u.seq, &n);
    if (st)
        return st;
    if (n > UINT32_MAX / (int64_t)sizeof(cfx_value))
        return cfx_call_fail(call, CFX_ENOMEM, "%lld items are too many",
                             (long long)n);
    size_t bytes = (size_t)n * sizeof(cfx_value);
    cfx_value *item = cfx_alloc(call->ctx, bytes);
    if (!item)
        return cfx_no_memory(call->err);
    for (int64_t i = 0; i < n; i++)
        item[i] = cfx_int(v.u.seq->item[0].u.i + i * v.u.seq->item[2].u.i);
    cfx_value out = cfx_seq_new(call->ctx, kind, (size_t)n, item, NULL);
    cfx_free(call->ctx, item, bytes);
    return cfx_call_return_take(call, out);
}

static cfx_status tuple_infer(cfx_call *call)
{
    return reseq(call, CFX_TUPLE);
}

static cfx_status list_infer(cfx_call *call)
{
    return reseq(call, CFX_LIST);
}

const cfx_op cfx_op__py_tuple = {
    .schema = "py_tuple(any(a) items=()) -> any(a)",
    .aliases = "builtins.tuple torch.Size",
    .doc = "A tuple of the same items.",
    .infer = tuple_infer,
};

const cfx_op cfx_op__py_list = {
    .schema = "py_list(any(a) items=()) -> any(a)",
    .aliases = "builtins.list",
    .doc = "A list of the same items.",
    .infer = list_infer,
};

/* slice(stop), slice(start, stop[, step]); ranges alike. */
static cfx_status three_parts(cfx_call *call, cfx_kind kind, cfx_value start,
                              cfx_value step)
{
    cfx_value part[] = {start, call->in[0], step};
    if (call->schema->nparams > 1) {
        part[0] = call->in[0];
        part[1] = call->in[1];
        if (cfx_call_has(call, 2))
            part[2] = call->in[2];
    }
    return cfx_call_return_take(call,
                                cfx_seq_new(call->ctx, kind, 3, part, NULL));
}

static cfx_status slice_infer(cfx_call *call)
{
    return three_parts(call, CFX_SLICE, cfx_none(), cfx_none());
}

static cfx_status range_infer(cfx_call *call)
{
    return three_parts(call, CFX_RANGE, cfx_int(0), cfx_int(1));
}

static const cfx_op slice_of_three = {
    .schema = "py_slice.three(any start, any stop, any step=None) -> any",
    .aliases = "builtins.slice",
    .doc = "A slice from start to stop.",
    .infer = slice_infer,
};

const cfx_op cfx_op__py_slice = {
    .schema = "py_slice(any stop) -> any",
    .aliases = "builtins.slice",
    .doc = "A slice up to stop.",
    .infer = slice_infer,
    .next = &slice_of_three,
};

static const cfx_op range_of_three = {
    .schema =
        "py_range.three(SymInt start, SymInt stop, SymInt? step=None) -> any",
    .aliases = "builtins.range",
    .doc = "The ints from start to stop.",
    .infer = range_infer,
};

const cfx_op cfx_op__py_range = {
    .schema = "py_range(SymInt stop) -> any",
    .aliases = "builtins.range",
    .doc = "The ints from 0 to stop.",
    .infer = range_infer,
    .next = &range_of_three,
};

static cfx_status device_infer(cfx_call *call)
{
    cfx_value v = call->in[0];
    char text[96];
    if (cfx_call_has(call, 1))
        snprintf(text, sizeof(text), "%.64s:%lld", v.u.str->text,
                 (long long)cfx_call_int(call, 1));
    else
        snprintf(text, sizeof(text), "%.64s", v.u.str->text);
    v = cfx_str_new(call->ctx, text, strlen(text));
    if (v.kind)
        v.kind = CFX_DEVICE;
    return cfx_call_return_take(call, v);
}

const cfx_op cfx_op__py_device = {
    .schema = "py_device(Device type, int? index=None) -> any",
    .aliases = "torch.device",
    .doc = "A device by its name.",
    .infer = device_infer,
};

const cfx_op cfx_op__py_log_usage = {
    .schema = "py_log_usage(any event) -> any",
    .aliases = "torch._C._log_api_usage_once",
    .doc = "Nothing: usage is not logged.",
    .infer = cfx_infer_none,
};
