/*
 * onnx_strings -- rules of strings, labels and n-grams.
 *
 * A tensor of strings is a nested list of str: an argument of the operators of
 * lib/ops/strings. n-grams are counted by comparing windows of the input with
 * all of them at once.
 */
#include <math.h>

#include "format/onnx/onnx.h"
#include "value/texts.h"

#define TYPE(t) cfx_value_of_dtype(t)

/* A result of strings. */
static cfx_value texts(onnx_node *n, cfx_value v)
{
    if (v.kind == CFX_NODE)
        onnx_mark_type(n->s, v, ONNX_STRING);
    return v;
}

/* A tensor of uint8 of the shape of strings or numbers; absent if that is not
 * known. */
static cfx_value stand_in(onnx_node *n, cfx_value x)
{
    cfx_value known = onnx_meta(n->s, x);
    cfx_dim shape[CFX_MAX_RANK];
    cfx_tensor *meta;
    cfx_texts t = {0};

    if (cfx_scope_failed(n->s))
        return CFX_NOTHING;
    if (known.kind == CFX_TENSOR) {
        t.rank = known.u.tensor->rank;
        memcpy(shape, known.u.tensor->shape, sizeof(*shape) * (size_t)t.rank);
    } else if (!cfx_texts_are(x) ||
               cfx_texts_read(&t, &n->importer->r.arena, x, &n->s->error)) {
        return CFX_NOTHING;
    }
    for (int i = 0; i < t.rank && known.kind != CFX_TENSOR; i++)
        shape[i] = cfx_dim_int(t.shape[i]);
    return cfx_tensor_meta(&meta, n->s->ctx, CFX_U8, t.rank, shape, NULL,
                           &n->s->error)
               ? CFX_NOTHING
               : cfx_scope_take(n->s, cfx_value_of_tensor(meta));
}

/* A node has the shape of x and y broadcast, and this type (uint8 for strings),
 * as the comparison of tensors of their shapes. */
static cfx_value shaped(onnx_node *n, cfx_value node, cfx_dtype type,
                        cfx_value x, cfx_value y)
{
    cfx_scope *meta = &n->importer->r.meta;
    cfx_value a = stand_in(n, x), b = stand_in(n, y);
    size_t frame = cfx_scope_enter(meta);

    if (a.kind == CFX_TENSOR && b.kind == CFX_TENSOR &&
        node.kind == CFX_NODE && !cfx_scope_failed(n->s)) {
        cfx_value m = cfx_to(meta, cfx_eq(meta, a, b), TYPE(type));
        if (!cfx_scope_status(meta, &n->s->error))
            onnx_set_meta(n->s, node, m);
    }
    cfx_scope_leave(meta, frame, cfx_none());
    return node;
}

cfx_value onnx_cast_to_texts(onnx_node *n)
{
    cfx_value x = n->in[0];

    if (!onnx_has(n, 0) || !onnx_is_texts(n->s, x))
        x = texts(n, cfx_string_from_tensor(n->s, onnx_stored_tensor(n, 0)));
    return onnx_has(n, 0) ? shaped(n, x, CFX_U8, n->in[0], n->in[0]) : x;
}

cfx_value onnx_cast_texts(onnx_node *n, cfx_dtype to)
{
    cfx_value x = onnx_texts(n, 0);

    return shaped(n, cfx_string_to_tensor(n->s, x, TYPE(to)), to, x, x);
}

cfx_value onnx_equal_texts(onnx_node *n)
{
    cfx_value x = onnx_texts(n, 0), y = onnx_texts(n, 1);

    return shaped(n, cfx_string_equal(n->s, x, y), CFX_BOOL, x, y);
}

cfx_value onnx_import_string_concat(onnx_node *n)
{
    cfx_value x = onnx_texts(n, 0), y = onnx_texts(n, 1);

    return shaped(n, texts(n, cfx_string_concat(n->s, x, y)), CFX_U8, x, y);
}

cfx_value onnx_import_string_split(onnx_node *n)
{
    cfx_value x = onnx_texts(n, 0), by = onnx_attr_str(n, "delimiter");
    const Onnx__AttributeProto *a = onnx_attr(n, "maxsplit");
    cfx_value most = a && a->has_i ? cfx_int(a->i) : CFX_NOTHING;

    cfx_value y = texts(
        n, cfx_string_split(n->s, x, .delimiter = by, .maxsplit = most));
    if (n->nout > 1)
        n->out[1] = shaped(n,
                           cfx_string_split_lengths(n->s, x, .delimiter = by,
                                                    .maxsplit = most),
                           CFX_I64, x, x);
    return y;
}

/* Languages whose letters change case in a way of their own. */
static void check_locale(onnx_node *n)
{
    static const char own[][4] = {"az", "lt", "tr"};
    const char *locale = onnx_attr_text(n, "locale", "");

    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        if (!strncmp(locale, own[i], 2))
            onnx_fail(n, CFX_EUNSUPPORTED,
                      "letters of its locale %.20s change case in another way",
                      locale);
}

cfx_value onnx_import_string_normalizer(onnx_node *n)
{
    check_locale(n);
    return texts(n, cfx_string_normalize(
                        n->s, onnx_texts(n, 0),
                        .case_change = onnx_attr_str(n, "case_change_action"),
                        .case_sensitive = cfx_bool(
                            onnx_attr_int(n, "is_case_sensitive", 0) != 0),
                        .stopwords = onnx_attr_texts(n, "stopwords")));
}

cfx_value onnx_import_regex_full_match(onnx_node *n)
{
    cfx_value x = onnx_texts(n, 0), pattern = onnx_attr_str(n, "pattern");

    if (pattern.kind == CFX_ABSENT)
        return onnx_fail(n, CFX_EGRAPH, "it has no pattern");
    return shaped(n, cfx_string_full_match(n->s, x, pattern), CFX_BOOL, x, x);
}

/* The places of strings among the keys, a list. */
static cfx_value places(onnx_node *n, cfx_value x, cfx_value keys)
{
    return shaped(n, cfx_string_index(n->s, x, keys), CFX_I64, x, x);
}

/* ---- Labels ---- */

/* A list of keys or values, by whichever attribute has it: a tensor of one
 * axis, or a list of str. */
static cfx_value row_of(onnx_node *n, const char *const name[4])
{
    const Onnx__AttributeProto *ints = onnx_attr(n, name[0]);
    const Onnx__AttributeProto *floats = onnx_attr(n, name[1]);
    Onnx__TensorProto *t = onnx_attr_tensor(n, name[3]);
    cfx_value texts = onnx_attr_texts(n, name[2]);

    if (ints)
        return onnx_int_tensor(n->s, 1, ints->n_ints, ints->ints);
    if (floats)
        return onnx_float_tensor(n->s, 1, floats->n_floats, floats->floats);
    if (texts.kind != CFX_ABSENT)
        return texts;
    if (!t)
        return onnx_fail(n, CFX_EGRAPH, "it lacks %s", name[3]);
    return onnx_constant(n->importer, t);
}

/* The index of each element among the keys; the number of keys if it is not a key. */
static cfx_value number_places(onnx_node *n, cfx_value x, cfx_value keys)
{
    const cfx_tensor *k = keys.u.tensor;
    cfx_value last = cfx_int(-1);

    for (int64_t i = 0; i < cfx_tensor_numel(k); i++)
        if (isnan(cfx_element_double(
                (cfx_dtype)k->dtype,
                (const char *)k->data +
                    (size_t)i * cfx_dtype_size((cfx_dtype)k->dtype))))
            return onnx_fail(n, CFX_EUNSUPPORTED, "a key is NaN");
    cfx_value is = cfx_eq(n->s, cfx_unsqueeze(n->s, x, last), keys);
    cfx_value none = cfx_logical_not(
        n->s, cfx_any(n->s, is, .dim = last, .keepdim = cfx_bool(true)));
    is = cfx_cat(n->s, cfx_list(n->s, is, none), .dim = last);
    return cfx_argmax(n->s, cfx_to(n->s, is, TYPE(CFX_U8)), .dim = last);
}

/* The value of what is no key, as a tensor of one item. */
static cfx_value default_label(onnx_node *n, cfx_dtype type)
{
    Onnx__TensorProto *t = onnx_attr_tensor(n, "default_tensor");
    int64_t i = onnx_attr_int(n, "default_int64", -1);
    float f = (float)onnx_attr_float(n, "default_float", -0.0);

    if (!t)
        return cfx_dtype_is_float(type) ? onnx_float_tensor(n->s, 1, 1, &f)
                                        : onnx_int_tensor(n->s, 1, 1, &i);
    cfx_value v = onnx_constant(n->importer, t);
    if (v.kind != CFX_TENSOR || cfx_tensor_numel(v.u.tensor) != 1)
        return onnx_fail(n, CFX_EINVAL, "its default is not one number");
    int64_t one[] = {1};
    return cfx_reshape(n->s, v, onnx_int_arg(n->s, 1, one));
}

cfx_value onnx_import_label_encoder(onnx_node *n)
{
    static const char *const key_names[] = {"keys_int64s", "keys_floats",
                                            "keys_strings", "keys_tensor"};
    static const char *const value_names[] = {
        "values_int64s", "values_floats", "values_strings", "values_tensor"};
    cfx_value keys = row_of(n, key_names), values = row_of(n, value_names);
    cfx_value place;

    onnx_ignore(n, "default_string");
    if (cfx_scope_failed(n->s))
        return CFX_NOTHING;
    if (values.kind != CFX_TENSOR)
        return onnx_fail(n, CFX_EUNSUPPORTED, "its labels are strings");
    if (keys.kind == CFX_TENSOR)
        place = number_places(n, onnx_tensor(n, 0), keys);
    else
        place = places(n, onnx_texts(n, 0), keys);
    cfx_value table = cfx_cat(
        n->s, cfx_list(n->s, values,
                       default_label(n, (cfx_dtype)values.u.tensor->dtype)));
    return cfx_index(n->s, table, onnx_arg(n->s, 1, &place));
}

/* ---- n-grams ---- */

/* Columns of a TfIdfVectorizer. */
enum { MAX_COLUMNS = 1 << 24 };

typedef struct grams {
    cfx_value x;    /* tokens as numbers; positions are the last axis */
    cfx_value pool; /* all n-grams, one after the other: a row of numbers */
    int64_t size;   /* of the pool */
    int64_t most_skips;
} grams;

/* x at the places from `first` on, so far that a window of `span` begins at
 * each. */
static cfx_value shifted(onnx_node *n, cfx_value x, int64_t first,
                         int64_t span)
{
    cfx_value end = first < span ? cfx_int(first - span) : CFX_NOTHING;

    return cfx_slice(n->s, x, .dim = cfx_int(-1), .start = cfx_int(first),
                     .end = end);
}

/* How often each n-gram of `length` tokens, a row of `some`, occurs in x with its
 * tokens `step` apart. */
static cfx_value count_at(onnx_node *n, cfx_value x, cfx_value some,
                          int64_t length, int64_t step)
{
    cfx_value all = CFX_NOTHING;

    for (int64_t i = 0; i < length && !cfx_scope_failed(n->s); i++) {
        cfx_value token = cfx_unsqueeze(
            n->s, shifted(n, x, i * step, (length - 1) * step), cfx_int(-1));
        cfx_value is = cfx_eq(n->s, token,
                              cfx_select(n->s, some, cfx_int(1), cfx_int(i)));
        all = i ? cfx_logical_and(n->s, all, is) : is;
    }
    return cfx_sum(n->s, all, .dim = cfx_int(-2));
}

/* The counts of the n-grams from `from` to `to` of the pool. Tokens of one word
 * are never apart. */
static cfx_value count_length(onnx_node *n, const grams *g, int64_t length,
                              int64_t from, int64_t to)
{
    cfx_value all = CFX_NOTHING;
    int64_t shape[] = {-1, length};
    cfx_value some = cfx_reshape(n->s,
                                 cfx_narrow(n->s, g->pool, cfx_int(0),
                                            cfx_int(from), cfx_int(to - from)),
                                 onnx_int_arg(n->s, 2, shape));

    for (int64_t skip = 0; skip <= (length > 1 ? g->most_skips : 0); skip++) {
        cfx_value count = count_at(n, g->x, some, length, skip + 1);
        all = skip ? cfx_add(n->s, all, count) : count;
        if (cfx_scope_failed(n->s))
            break;
    }
    return all;
}

/* The tokens of the input and of the pool as numbers. */
static bool read_tokens(onnx_node *n, grams *g)
{
    const Onnx__AttributeProto *ints = onnx_attr(n, "pool_int64s");
    cfx_value texts = onnx_attr_texts(n, "pool_strings");

    if (texts.kind == CFX_LIST) {
        g->size = texts.u.seq->len;
        g->x = places(n, onnx_texts(n, 0), texts);
        g->pool = places(n, texts, texts);
    } else if (ints) {
        g->size = (int64_t)ints->n_ints;
        g->x = onnx_tensor(n, 0);
        g->pool = onnx_int_tensor(n->s, 1, ints->n_ints, ints->ints);
    } else {
        onnx_fail(n, CFX_EGRAPH, "it has no pool of n-grams");
    }
    return !cfx_scope_failed(n->s);
}

/* The counts of all n-grams of the lengths that are asked for, and the number
 * of the first and of the one after the last of them. */
static cfx_value count_all(onnx_node *n, const grams *g, int64_t *first,
                           int64_t *last)
{
    const int64_t *starts;
    int64_t lengths = (int64_t)onnx_attr_ints(n, "ngram_counts", &starts);
    int64_t min = onnx_attr_int(n, "min_gram_length", 1), id = 0;
    int64_t max = onnx_attr_int(n, "max_gram_length", 1);
    cfx_value part[ONNX_MAX_UNROLLED];
    size_t nparts = 0;

    if (lengths > ONNX_MAX_UNROLLED ||
        lengths * lengths * (g->most_skips + 1) > ONNX_MAX_UNROLLED)
        return onnx_fail(n, CFX_ELIMIT, "its n-grams are too long or too far");
    *first = -1;
    for (int64_t k = 1; k <= lengths && !cfx_scope_failed(n->s); k++) {
        int64_t from = starts[k - 1], to = k < lengths ? starts[k] : g->size;
        if (from < 0 || to < from || to > g->size || (to - from) % k)
            return onnx_fail(n, CFX_EINVAL, "its ngram_counts are wrong");
        int64_t many = (to - from) / k;
        if (many && k >= min && k <= max) {
            part[nparts++] = count_length(n, g, k, from, to);
            *first = *first < 0 ? id : *first;
            *last = id + many;
        }
        id += many;
    }
    if (!nparts)
        return onnx_fail(n, CFX_EUNSUPPORTED,
                         "it has no n-grams of the lengths that it counts");
    return cfx_cat(n->s, onnx_arg(n->s, nparts, part), .dim = cfx_int(-1));
}

/* Counts of the n-grams first..last in the columns that ngram_indexes tells,
 * zeros in others. */
static cfx_value placed(onnx_node *n, cfx_value counts, int64_t first,
                        int64_t last, bool *in_order)
{
    const int64_t *index;
    size_t n_index = onnx_attr_ints(n, "ngram_indexes", &index), width = 0;
    int64_t pad[] = {0, 1};

    *in_order = true;
    for (size_t i = 0; i < n_index; i++) {
        if (index[i] < 0 || index[i] >= MAX_COLUMNS)
            return onnx_fail(n, CFX_EINVAL, "its ngram_indexes are wrong");
        *in_order = *in_order && index[i] == (int64_t)i;
        width = (size_t)index[i] + 1 > width ? (size_t)index[i] + 1 : width;
    }
    if (last > (int64_t)n_index)
        return onnx_fail(n, CFX_EINVAL, "it has %zu ngram_indexes, not %lld",
                         n_index, (long long)last);
    int64_t *from = onnx_alloc(n->s, width + 1, sizeof(*from));
    for (size_t i = 0; from && i < width; i++)
        from[i] = last - first;
    for (int64_t i = first; from && i < last; i++) {
        if (from[index[i]] != last - first)
            return onnx_fail(n, CFX_EUNSUPPORTED,
                             "two of its n-grams have one index");
        from[index[i]] = i - first;
    }
    if (!from)
        return cfx_none();
    return cfx_index_select(
        n->s, cfx_pad(n->s, counts, onnx_int_arg(n->s, 2, pad)), cfx_int(-1),
        onnx_int_tensor(n->s, 1, width, from));
}

cfx_value onnx_import_tf_idf_vectorizer(onnx_node *n)
{
    const Onnx__AttributeProto *w = onnx_attr(n, "weights");
    grams g = {.most_skips = onnx_attr_int(n, "max_skip_count", 0)};
    int64_t first = 0, last = 0;
    bool in_order = true;

    if (g.most_skips < 0 || g.most_skips >= ONNX_MAX_UNROLLED)
        onnx_fail(n, CFX_ELIMIT, "its n-grams are too far");
    if (cfx_scope_failed(n->s) || !read_tokens(n, &g))
        return CFX_NOTHING;
    cfx_value y = count_all(n, &g, &first, &last);
    if (cfx_scope_failed(n->s))
        return CFX_NOTHING;
    y = placed(n, y, first, last, &in_order);
    if (onnx_attr_is(n, "mode", "IDF", ""))
        y = cfx_gt(n->s, y, cfx_int(0));
    y = cfx_to(n->s, y, TYPE(CFX_F32));
    if (w && !in_order)
        onnx_fail(n, CFX_EUNSUPPORTED,
                  "it has weights, and ngram_indexes in another order");
    if (w && !onnx_attr_is(n, "mode", "TF", ""))
        y = cfx_mul(n->s, y,
                    onnx_float_tensor(n->s, 1, w->n_floats, w->floats));
    return y;
}
