/*
 * pt2_schema -- the plain parts of the schema 8.x of exported programs: unions,
 * numbered types, extents, the types of tensors.
 *
 * Unknown keys of objects are ignored, since minor versions add some; a union
 * of an unknown kind is an error.
 */
#include "format/pt2/pt2.h"

#include "format/pt2/pt2_write.h"

/* ---- Objects and unions ---- */

cfx_status cfx_pt2__read_union(cfx_pt2_union *out, const json_t *v,
                               const char *what, cfx_error *err)
{
    json_t *object = (json_t *)(uintptr_t)v;
    void *first = json_object_iter(object);

    if (json_object_size(object) != 1)
        return cfx_fail(err, CFX_EPARSE,
                        "%s should be an object of one key, which has %zu",
                        what, json_object_size(object));
    out->key = json_object_iter_key(first);
    out->value = json_object_iter_value(first);
    return CFX_OK;
}

static const char *type_name(json_type type)
{
    switch (type) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "a list";
    case JSON_STRING: return "a string";
    case JSON_INTEGER: return "an integer";
    default: return "a number";
    }
}

cfx_status cfx_pt2__member(const json_t **out, const json_t *object,
                           const char *key, json_type type, cfx_error *err)
{
    *out = json_object_get(object, key);
    return *out && json_typeof(*out) == type
               ? CFX_OK
               : cfx_fail(err, CFX_EPARSE, "'%s' should be %s", key,
                          type_name(type));
}

cfx_status cfx_pt2__text(const char **out, const json_t *object,
                         const char *key, cfx_error *err)
{
    const json_t *v;
    cfx_status st = cfx_pt2__member(&v, object, key, JSON_STRING, err);

    *out = st ? NULL : json_string_value(v);
    return st;
}

cfx_status cfx_pt2__value_name(const char **out, const cfx_pt2_union *u,
                               cfx_error *err)
{
    *out = NULL;
    for (int i = 0; i < CFX_PT2_NNAMED; i++)
        if (!strcmp(u->key, cfx_pt2__value_unions[i].kind))
            return cfx_pt2__text(out, u->value, cfx_pt2__value_unions[i].name,
                                 err);
    return CFX_OK;
}

/* ---- Values ---- */

cfx_status cfx_pt2__add_take(cfx_pt2_values *l, cfx_value v, cfx_error *err)
{
    if (v.kind && !cfx_grow(l->ctx, l->item, l->cap, l->n + 1, err)) {
        l->item[l->n++] = v;
        return CFX_OK;
    }
    cfx_value_unref(v);
    return cfx_no_memory(err);
}

cfx_status cfx_pt2__add_str(cfx_pt2_values *l, const char *text, size_t len,
                            cfx_error *err)
{
    return cfx_pt2__add_take(l, cfx_str_new(l->ctx, text, len), err);
}

void cfx_pt2__values_release(cfx_pt2_values *l)
{
    while (l->n > 0)
        cfx_value_unref(l->item[--l->n]);
    if (l->item)
        cfx_free(l->ctx, l->item, l->cap * sizeof(*l->item));
}

cfx_status cfx_pt2__values_end(cfx_value *out, cfx_pt2_values *l,
                               cfx_kind kind, cfx_status st, cfx_error *err)
{
    *out = CFX_NOTHING;
    if (!st) {
        *out = kind == CFX_DICT
                   ? cfx_dict_new(l->ctx, l->n / 2, l->item)
                   : cfx_seq_new(l->ctx, kind, l->n, l->item, NULL);
        st = out->kind ? CFX_OK : cfx_no_memory(err);
    }
    cfx_pt2__values_release(l);
    return st;
}

/* ---- Numbered types ---- */

cfx_status cfx_pt2__dtype(cfx_dtype *out, const json_t *v, cfx_error *err)
{
    json_int_t i = json_is_integer(v) ? json_integer_value(v) : 0;
    const char *name = cfx_pt2__dtype_name(i);

    if (!name)
        return cfx_fail(err, CFX_EPARSE, "a dtype is unknown");
    return cfx_dtype_parse(out, name)
               ? CFX_OK
               : cfx_fail(err, CFX_EUNSUPPORTED,
                          "the dtype torch.%s is not supported", name);
}

cfx_status cfx_pt2__layout(const char **out, const json_t *v, cfx_error *err)
{
    *out = "torch.strided";
    return json_is_integer(v) && json_integer_value(v) == 7
               ? CFX_OK
               : cfx_fail(err, CFX_EUNSUPPORTED,
                          "a layout is not torch.strided");
}

cfx_status cfx_pt2__format(cfx_memory_format *out, const json_t *v,
                           cfx_error *err)
{
    static const cfx_memory_format formats[] = {
        CFX_CONTIGUOUS_FORMAT, CFX_CHANNELS_LAST, CFX_CHANNELS_LAST_3D,
        CFX_PRESERVE_FORMAT};
    json_int_t i = json_is_integer(v) ? json_integer_value(v) : 0;

    if (i < 1 || i > 4)
        return cfx_fail(err, CFX_EPARSE, "a memory format is unknown");
    *out = formats[i - 1];
    return CFX_OK;
}

cfx_status cfx_pt2__device(char *out, size_t size, const json_t *v,
                           cfx_error *err)
{
    const json_t *index = json_object_get(v, "index");
    const char *type;
    cfx_device_label label;
    cfx_status st = cfx_pt2__text(&type, v, "type", err);

    if (st)
        return st;
    if (json_is_integer(index))
        snprintf(out, size, "%.32s:%lld", type,
                 (long long)json_integer_value(index));
    else
        snprintf(out, size, "%.32s", type);
    return cfx_device_parse(&label, out)
               ? CFX_OK
               : cfx_fail(err, CFX_EPARSE, "the device '%s' is unknown", out);
}

cfx_status cfx_pt2__float(double *out, const json_t *v, cfx_error *err)
{
    const char *word = json_string_value(v);

    if (json_is_number(v))
        *out = json_number_value(v);
    else if (word && !strcmp(word, "Infinity"))
        *out = (double)INFINITY;
    else if (word && !strcmp(word, "-Infinity"))
        *out = -(double)INFINITY;
    else if (word && !strcmp(word, "NaN"))
        *out = (double)NAN;
    else
        return cfx_fail(err, CFX_EPARSE, "a number should stand here");
    return CFX_OK;
}

/* ---- Extents and tensors ---- */

cfx_status cfx_pt2__extent(cfx_dim *out, cfx_shape_env *env, const json_t *v,
                           cfx_error *err)
{
    cfx_pt2_union u;
    const char *text;
    cfx_status st = cfx_pt2__read_union(&u, v, "an extent", err);

    if (st)
        return st;
    if (!strcmp(u.key, "as_int") && json_is_integer(u.value)) {
        *out = cfx_dim_int(json_integer_value(u.value));
        return cfx_dim_is_bad(*out)
                   ? cfx_fail(err, CFX_ESHAPE, "an extent is too large")
                   : CFX_OK;
    }
    if (strcmp(u.key, "as_expr") != 0)
        return cfx_fail(err, CFX_EPARSE, "'%.64s' is not an extent", u.key);
    if (!env)
        return cfx_fail(err, CFX_ESHAPE, "an extent is not a number");
    st = cfx_pt2__text(&text, u.value, "expr_str", err);
    return st ? st : cfx_dim_parse(out, env, text, err);
}

static cfx_status read_extents(cfx_dim *out, size_t n, cfx_shape_env *env,
                               const json_t *list, cfx_error *err)
{
    cfx_status st = CFX_OK;

    for (size_t i = 0; i < n && !st; i++)
        st = cfx_pt2__extent(&out[i], env, json_array_get(list, i), err);
    return st;
}

cfx_status cfx_pt2__meta(cfx_tensor **out, cfx_context *ctx,
                         cfx_shape_env *env, const json_t *v, cfx_error *err)
{
    cfx_dim shape[CFX_MAX_RANK], stride[CFX_MAX_RANK];
    const json_t *sizes, *strides;
    cfx_dtype dtype = CFX_F32;
    const char *layout;

    *out = NULL;
    cfx_status st = cfx_pt2__dtype(&dtype, json_object_get(v, "dtype"), err);
    if (!st)
        st = cfx_pt2__layout(&layout, json_object_get(v, "layout"), err);
    if (!st)
        st = cfx_pt2__member(&sizes, v, "sizes", JSON_ARRAY, err);
    if (!st)
        st = cfx_pt2__member(&strides, v, "strides", JSON_ARRAY, err);
    if (st)
        return st;
    size_t rank = json_array_size(sizes);
    if (rank > CFX_MAX_RANK)
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "a tensor has rank %zu, more than %d", rank,
                        CFX_MAX_RANK);
    if (json_array_size(strides) != rank)
        return cfx_fail(err, CFX_EPARSE, "a tensor has %zu sizes, %zu strides",
                        rank, json_array_size(strides));
    st = read_extents(shape, rank, env, sizes, err);
    if (!st)
        st = read_extents(stride, rank, env, strides, err);
    for (size_t i = 0; i < rank && !st; i++)
        if (cfx_dim_is_int(stride[i]) && cfx_dim_value(stride[i]) < 0)
            st = cfx_fail(err, CFX_EPARSE, "a tensor has a negative stride");
    return st ? st
              : cfx_tensor_meta(out, ctx, dtype, (int)rank, shape, stride,
                                err);
}
