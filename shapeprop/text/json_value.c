/*
 * json_value -- convert values and extents to JSON.
 */
#include "shapeprop/text/json_value.h"

#include <cfx/text.h>

#include <stdlib.h>
#include <string.h>

#include "base/unicode.h"

/* Append to an array; a missing value means lack of memory. */
static bool append(json_t *to, json_t *v)
{
    return !json_array_append_new(to, v);
}

static bool set(json_t *to, const char *key, json_t *v)
{
    return !json_object_set_new(to, key, v);
}

/* Return `v`, or free it and return NULL if it is incomplete. */
static json_t *whole(json_t *v, bool ok)
{
    if (ok)
        return v;
    json_decref(v);
    return NULL;
}

/* JSON escapes the controls of ASCII but DEL. What else a terminal acts on, and
 * stray bytes, become the text of their escapes. */
json_t *cfx_json_text(const char *s, size_t len)
{
    char *text = malloc(len * CFX_ESCAPE + 1);
    size_t n = 0;
    if (!text)
        return NULL;
    for (size_t i = 0, used; i < len; i += used) {
        size_t more = cfx_utf8_visible(text + n, s + i, len - i, &used);
        if ((unsigned char)s[i] < ' ')
            text[n] = s[i];
        n += (unsigned char)s[i] < ' ' ? 1 : more;
    }
    json_t *j = json_stringn(text, n);
    free(text);
    return j;
}

/* ---- Extents ---- */

json_t *cfx_json_dim(cfx_dim d)
{
    char text[256], *more = NULL;
    if (cfx_dim_is_int(d))
        return json_integer(cfx_dim_value(d));
    size_t n = cfx_dim_format(d, text, sizeof(text));
    if (n >= sizeof(text)) {
        more = malloc(n + 1);
        if (!more)
            return NULL;
        cfx_dim_format(d, more, n + 1);
    }
    json_t *j = json_stringn(more ? more : text, n);
    free(more);
    return j;
}

static json_t *dims(const cfx_dim *d, int n)
{
    json_t *j = json_array();
    bool ok = j != NULL;
    for (int i = 0; ok && i < n; i++)
        ok = append(j, cfx_json_dim(d[i]));
    return whole(j, ok);
}

/* ---- Values ---- */

static json_t *tensor(const cfx_tensor *t)
{
    json_t *j = json_object();
    bool ok = j && set(j, "dtype", json_string(cfx_dtypes[t->dtype].name)) &&
              set(j, "shape", dims(t->shape, t->rank)) &&
              set(j, "stride", dims(t->stride, t->rank));
    return whole(j, ok);
}

static json_t *list(const cfx_seq *s)
{
    json_t *j = json_array();
    bool ok = j != NULL;
    for (uint32_t i = 0; ok && i < s->len; i++)
        ok = append(j, cfx_json_value(s->item[i]));
    return whole(j, ok);
}

struct key {
    char text[256];
    size_t len;
};

/* Text that does not fit is dropped. */
static cfx_status add_to_key(void *user, const char *text, size_t len)
{
    struct key *key = user;
    size_t room = sizeof(key->text) - 1 - key->len;
    len = len < room ? len : room;
    memcpy(key->text + key->len, text, len);
    key->len += len;
    return CFX_OK;
}

/* Keys that are not strings are written in Python's notation. */
static bool set_item(json_t *to, cfx_value key, cfx_value v)
{
    struct key k = {.len = 0};
    if (key.kind == CFX_STR) {
        json_t *text = cfx_json_text(key.u.str->text, key.u.str->len);
        bool ok = text && set(to, json_string_value(text), cfx_json_value(v));
        json_decref(text);
        return ok;
    }
    return !cfx_print_shape((cfx_sink){add_to_key, &k}, key, false, NULL) &&
           set(to, k.text, cfx_json_value(v));
}

static json_t *dict(const cfx_seq *s)
{
    json_t *items = json_object();
    bool ok = items != NULL;
    for (uint32_t i = 0; ok && i + 1 < s->len; i += 2)
        ok = set_item(items, s->item[i], s->item[i + 1]);
    items = whole(items, ok);
    json_t *j = items ? json_object() : NULL;
    if (!j) {
        json_decref(items);
        return NULL;
    }
    return whole(j, set(j, "dict", items));
}

/* The depth is bounded by CFX_MAX_DEPTH. */
json_t *cfx_json_value(cfx_value v)
{
    switch ((cfx_kind)v.kind) {
    case CFX_TENSOR: return tensor(v.u.tensor);
    case CFX_TUPLE:
    case CFX_LIST: return list(v.u.seq);
    case CFX_DICT: return dict(v.u.seq);
    case CFX_INT: return json_integer(v.u.i);
    case CFX_SYMINT: return cfx_json_dim(v.u.dim);
    default: return json_null();
    }
}

/* ---- Symbols ---- */

static json_t *end(int64_t v, int64_t none)
{
    return v == none ? json_null() : json_integer(v);
}

json_t *cfx_json_symbols(const cfx_shape_env *env)
{
    json_t *j = json_object();
    bool ok = j != NULL;
    size_t n = env ? cfx_shape_env_symbols(env) : 0;
    for (size_t i = 0; ok && i < n; i++) {
        cfx_symbol s;
        json_t *one = json_object();
        cfx_shape_env_symbol(env, i, &s);
        ok = one && set(one, "min", end(s.min, CFX_DIM_NO_MIN)) &&
             set(one, "max", end(s.max, CFX_DIM_NO_MAX));
        one = whole(one, ok);
        ok = ok && set(j, s.name, one);
    }
    return whole(j, ok);
}

json_t *cfx_json_guards(const cfx_shape_env *env)
{
    json_t *j = json_array();
    bool ok = j != NULL;
    size_t n = env ? cfx_shape_env_guards(env) : 0;
    for (size_t i = 0; ok && i < n; i++)
        ok = append(j, json_string(cfx_shape_env_guard(env, i)));
    return whole(j, ok);
}
