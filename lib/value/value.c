/*
 * value -- reference-counted objects, and iterative walks over them.
 *
 * An aggregate stores its nesting depth in `flags`, so that a constructor can
 * refuse one that is too deep. Aggregates in a graph's arena may not store it;
 * walks use a stack of CFX_MAX_DEPTH and refuse deeper values.
 */
#include <cfx/value.h>

#include <math.h>
#include <string.h>

#include "base/atomic.h"
#include "base/util.h"

enum {
    IS_STR = 1, /* u.str is counted */
    IS_SEQ = 2, /* u.seq is counted */
    IS_NEST = 4 /* and holds other values, not just numbers */
};

static const struct {
    const char *name;
    unsigned is;
} kinds[CFX_NKINDS] = {
    [CFX_ABSENT] = {"nothing", 0},
    [CFX_NONE] = {"None", 0},
    [CFX_BOOL_VALUE] = {"bool", 0},
    [CFX_INT] = {"int", 0},
    [CFX_SYMINT] = {"SymInt", 0},
    [CFX_FLOAT] = {"float", 0},
    [CFX_COMPLEX] = {"complex", IS_SEQ},
    [CFX_STR] = {"str", IS_STR},
    [CFX_DTYPE] = {"torch.dtype", 0},
    [CFX_DEVICE] = {"torch.device", IS_STR},
    [CFX_MEMORY_FORMAT] = {"torch.memory_format", 0},
    [CFX_LAYOUT] = {"torch.layout", IS_STR},
    [CFX_ELLIPSIS] = {"ellipsis", 0},
    [CFX_SLICE] = {"slice", IS_SEQ | IS_NEST},
    [CFX_RANGE] = {"range", IS_SEQ | IS_NEST},
    [CFX_TUPLE] = {"tuple", IS_SEQ | IS_NEST},
    [CFX_LIST] = {"list", IS_SEQ | IS_NEST},
    [CFX_DICT] = {"dict", IS_SEQ | IS_NEST},
    [CFX_TENSOR] = {"Tensor", 0},
    [CFX_NODE] = {"Node", 0},
    [CFX_MODULE] = {"Module", 0},
    [CFX_NAME] = {"name", IS_STR},
};

const char *cfx_kind_name(cfx_kind kind)
{
    return kind < CFX_NKINDS ? kinds[kind].name : "unknown";
}

static bool is(cfx_value v, unsigned what)
{
    return kinds[v.kind].is & what;
}

/* ---- Reference counts ---- */

cfx_value cfx_value_ref(cfx_value v)
{
    if (v.kind == CFX_TENSOR)
        cfx_tensor_ref(v.u.tensor);
    else if (is(v, IS_SEQ))
        cfx_ref_inc(&v.u.seq->refs);
    else if (is(v, IS_STR))
        cfx_ref_inc(&v.u.str->refs);
    return v;
}

static size_t str_size(size_t len)
{
    return sizeof(cfx_string) + len + 1;
}

static size_t seq_size(size_t n)
{
    return sizeof(cfx_seq) + n * sizeof(cfx_value);
}

/* Drop a reference to a value that is not a sequence. */
static void unref_leaf(cfx_value v)
{
    if (v.kind == CFX_TENSOR) {
        cfx_tensor_unref(v.u.tensor);
    } else if (is(v, IS_STR)) {
        cfx_string *s = v.u.str;
        if (cfx_ref_dec(&s->refs))
            cfx_free(s->ctx, s, str_size(s->len));
    }
}

/*
 * Dead sequences wait in a list until their items are released. The list is
 * linked through `type`, which is no longer read.
 */
void cfx_value_unref(cfx_value v)
{
    cfx_seq *dead = NULL;

    if (!is(v, IS_SEQ)) {
        unref_leaf(v);
        return;
    }
    if (!cfx_ref_dec(&v.u.seq->refs))
        return;
    v.u.seq->type = NULL;
    dead = v.u.seq;
    while (dead) {
        cfx_seq *s = dead;
        dead = (cfx_seq *)(uintptr_t)s->type;
        for (uint32_t i = 0; i < s->len; i++) {
            cfx_value item = s->item[i];
            if (!is(item, IS_SEQ)) {
                unref_leaf(item);
            } else if (cfx_ref_dec(&item.u.seq->refs)) {
                item.u.seq->type = (const void *)dead;
                dead = item.u.seq;
            }
        }
        cfx_free(s->ctx, s, seq_size(s->len));
    }
}

/* ---- Objects ---- */

cfx_value cfx_str_new(cfx_context *ctx, const char *text, size_t len)
{
    cfx_string *s = len < UINT32_MAX ? cfx_alloc(ctx, str_size(len)) : NULL;

    if (!s)
        return CFX_NOTHING;
    s->refs = 1;
    s->len = (uint32_t)len;
    s->ctx = ctx;
    if (len)
        memcpy(s->text, text, len);
    s->text[len] = 0;
    return (cfx_value){.kind = CFX_STR, .u.str = s};
}

cfx_value cfx_value_own(cfx_context *ctx, cfx_value v)
{
    if (is(v, IS_SEQ) && !cfx_ref_counts(&v.u.seq->refs))
        return cfx_seq_new(ctx, (cfx_kind)v.kind, v.u.seq->len, v.u.seq->item,
                           v.u.seq->type);
    if (!is(v, IS_STR) || cfx_ref_counts(&v.u.str->refs))
        return cfx_value_ref(v);
    cfx_value copy = cfx_str_new(ctx, v.u.str->text, v.u.str->len);
    if (copy.kind)
        copy.kind = v.kind;
    return copy;
}

/* The nesting depth of a sequence of these items. */
static int depth_over(size_t n, const cfx_value *items)
{
    int depth = 1;

    for (size_t i = 0; i < n; i++)
        if (is(items[i], IS_NEST) && items[i].flags >= depth)
            depth = items[i].flags + 1;
    return depth;
}

cfx_value cfx_seq_new(cfx_context *ctx, cfx_kind kind, size_t n,
                      const cfx_value *items, const cfx_named_tuple *type)
{
    assert(kinds[kind].is & IS_SEQ);
    if (n > UINT32_MAX / sizeof(cfx_value))
        return CFX_NOTHING;

    cfx_seq *s = cfx_alloc(ctx, seq_size(n));
    if (!s)
        return CFX_NOTHING;
    s->refs = 1;
    s->len = (uint32_t)n;
    s->ctx = ctx;
    s->type = type;
    cfx_value v = {.kind = (uint8_t)kind, .u.seq = s};
    bool complete = true;
    for (size_t i = 0; i < n; i++) {
        s->item[i] = complete ? cfx_value_own(ctx, items[i]) : CFX_NOTHING;
        complete = complete && (s->item[i].kind || !items[i].kind);
    }
    int depth = depth_over(n, s->item);
    v.flags = (uint8_t)depth;
    if (complete && depth <= CFX_MAX_DEPTH)
        return v;
    cfx_value_unref(v);
    return CFX_NOTHING;
}

cfx_value cfx_tuple_new(cfx_context *ctx, size_t n, const cfx_value *items)
{
    return cfx_seq_new(ctx, CFX_TUPLE, n, items, NULL);
}

cfx_value cfx_list_new(cfx_context *ctx, size_t n, const cfx_value *items)
{
    return cfx_seq_new(ctx, CFX_LIST, n, items, NULL);
}

cfx_value cfx_dict_new(cfx_context *ctx, size_t n, const cfx_value *items)
{
    if (n > UINT32_MAX / 2)
        return CFX_NOTHING;
    return cfx_seq_new(ctx, CFX_DICT, 2 * n, items, NULL);
}

cfx_value cfx_dict_get(cfx_value dict, const char *key)
{
    size_t len = strlen(key);

    if (dict.kind != CFX_DICT)
        return CFX_NOTHING;
    for (uint32_t i = 0; i + 1 < dict.u.seq->len; i += 2) {
        const cfx_value *k = &dict.u.seq->item[i];
        if (k->kind == CFX_STR && k->u.str->len == len &&
            !memcmp(k->u.str->text, key, len))
            return k[1];
    }
    return CFX_NOTHING;
}

/* The buffer never grows: no double needs more than 24 characters. */
void cfx_float_repr(char *buf, double f)
{
    cfx_buf b = {.s = buf, .cap = 32};

    *buf = 0;
    cfx_buf_float(&b, f);
}

/* ---- Equality ---- */

/* Compare bits, so that 0.0 and -0.0 differ; all NaNs are equal. */
static bool same_double(double a, double b)
{
    return (isnan(a) && isnan(b)) || !memcmp(&a, &b, sizeof a);
}

static bool same_type(const cfx_named_tuple *a, const cfx_named_tuple *b)
{
    return a == b || (a && b && !strcmp(a->name, b->name) &&
                      !strcmp(a->fields, b->fields));
}

/* Are two values equal, apart from their items? */
static bool same_top(cfx_value a, cfx_value b)
{
    if (a.kind != b.kind)
        return false;
    if (is(a, IS_SEQ))
        return a.u.seq->len == b.u.seq->len &&
               same_type(a.u.seq->type, b.u.seq->type);
    if (is(a, IS_STR))
        return a.u.str->len == b.u.str->len &&
               !memcmp(a.u.str->text, b.u.str->text, a.u.str->len);
    switch (a.kind) {
    case CFX_ABSENT:
    case CFX_NONE:
    case CFX_ELLIPSIS: return true;
    case CFX_FLOAT: return same_double(a.u.f, b.u.f);
    case CFX_DTYPE: return a.u.dtype == b.u.dtype;
    case CFX_MEMORY_FORMAT: return a.u.format == b.u.format;
    case CFX_TENSOR: return a.u.tensor == b.u.tensor;
    case CFX_NODE: return a.u.node == b.u.node;
    case CFX_MODULE: return a.u.module == b.u.module;
    default: return a.u.i == b.u.i;
    }
}

bool cfx_value_equal(cfx_value a, cfx_value b)
{
    struct {
        const cfx_seq *a, *b;
        uint32_t at;
    } stack[CFX_MAX_DEPTH];
    int depth = 0;

    for (;;) {
        if (!same_top(a, b))
            return false;
        if (is(a, IS_SEQ) && a.u.seq != b.u.seq) {
            if (depth == CFX_MAX_DEPTH)
                return false;
            stack[depth].a = a.u.seq;
            stack[depth].b = b.u.seq;
            stack[depth++].at = 0;
        }
        while (depth && stack[depth - 1].at == stack[depth - 1].a->len)
            depth--;
        if (!depth)
            return true;
        uint32_t i = stack[depth - 1].at++;
        a = stack[depth - 1].a->item[i];
        b = stack[depth - 1].b->item[i];
    }
}

/* ---- Walks ---- */

/* A sequence during a walk. Keys of a dict are not visited. */
typedef struct frame {
    cfx_value v;
    uint32_t at;
    cfx_seq *copy; /* of map: made when the first item changes */
} frame;

static void release_copy(frame *f)
{
    if (f->copy)
        cfx_value_unref((cfx_value){.kind = f->v.kind, .u.seq = f->copy});
}

static uint32_t first_item(cfx_value v)
{
    return v.kind == CFX_DICT;
}

static uint32_t item_step(cfx_value v)
{
    return v.kind == CFX_DICT ? 2 : 1;
}

static cfx_status too_deep(cfx_error *err)
{
    return cfx_fail(err, CFX_EINVAL, "values are nested deeper than %d",
                    CFX_MAX_DEPTH);
}

cfx_status cfx_value_visit(cfx_value v,
                           cfx_status (*fn)(void *user, cfx_value v),
                           void *user)
{
    struct {
        cfx_value v;
        uint32_t at;
    } stack[CFX_MAX_DEPTH];
    int depth = 0;

    for (;;) {
        if (!is(v, IS_NEST)) {
            cfx_status st = fn(user, v);
            if (st)
                return st;
        } else if (depth == CFX_MAX_DEPTH) {
            return too_deep(NULL);
        } else {
            stack[depth].v = v;
            stack[depth++].at = first_item(v);
        }
        while (depth && stack[depth - 1].at >= stack[depth - 1].v.u.seq->len)
            depth--;
        if (!depth)
            return CFX_OK;
        v = stack[depth - 1].v;
        uint32_t i = stack[depth - 1].at;
        stack[depth - 1].at += item_step(v);
        v = v.u.seq->item[i];
    }
}

struct question {
    bool (*fn)(void *user, cfx_value v);
    void *user;
};

static cfx_status stop_at_yes(void *user, cfx_value v)
{
    const struct question *q = user;
    return q->fn(q->user, v) ? CFX_ECANCEL : CFX_OK;
}

bool cfx_value_any(cfx_value v, bool (*fn)(void *user, cfx_value v),
                   void *user)
{
    struct question q = {fn, user};
    return cfx_value_visit(v, stop_at_yes, &q) != CFX_OK;
}

static bool same_word(cfx_value a, cfx_value b)
{
    return a.kind == b.kind && a.u.i == b.u.i;
}

/* Store a mapped item in the copy; takes it. */
static cfx_status put_item_take(frame *f, cfx_context *ctx, cfx_value item,
                                cfx_error *err)
{
    const cfx_seq *from = f->v.u.seq;
    uint32_t i = f->at;

    f->at += item_step(f->v);
    if (!f->copy && same_word(item, from->item[i])) {
        cfx_value_unref(item);
        return CFX_OK;
    }
    if (!f->copy) {
        cfx_value copy = cfx_seq_new(ctx, (cfx_kind)f->v.kind, from->len,
                                     from->item, from->type);
        if (cfx_value_is_absent(copy)) {
            cfx_value_unref(item);
            return cfx_fail(err, CFX_ENOMEM, "no memory for a value");
        }
        f->copy = copy.u.seq;
    }
    cfx_value_unref(f->copy->item[i]);
    f->copy->item[i] = item;
    return CFX_OK;
}

/* The mapped sequence, a new reference. fn may have changed its depth. */
static cfx_status finish(frame *f, cfx_value *out, cfx_error *err)
{
    if (!f->copy) {
        *out = cfx_value_ref(f->v);
        return CFX_OK;
    }
    int depth = depth_over(f->copy->len, f->copy->item);
    if (depth > CFX_MAX_DEPTH) {
        release_copy(f);
        return too_deep(err);
    }
    *out = f->v;
    out->flags = (uint8_t)depth;
    out->u.seq = f->copy;
    return CFX_OK;
}

cfx_status cfx_value_map(cfx_value *out, cfx_context *ctx, cfx_value v,
                         cfx_status (*fn)(void *user, cfx_value v,
                                          cfx_value *out),
                         void *user, cfx_error *err)
{
    frame stack[CFX_MAX_DEPTH];
    cfx_value done = CFX_NOTHING;
    cfx_status st;
    int depth = 0;

    *out = CFX_NOTHING;
    for (;;) {
        if (!is(v, IS_NEST)) {
            if ((st = fn(user, v, &done)))
                goto fail;
            if (!depth)
                break;
            if ((st = put_item_take(&stack[depth - 1], ctx, done, err)))
                goto fail;
        } else if (depth == CFX_MAX_DEPTH) {
            st = too_deep(err);
            goto fail;
        } else {
            stack[depth++] = (frame){.v = v, .at = first_item(v)};
        }
        while (depth && stack[depth - 1].at >= stack[depth - 1].v.u.seq->len) {
            if ((st = finish(&stack[--depth], &done, err)))
                goto fail;
            if (depth &&
                (st = put_item_take(&stack[depth - 1], ctx, done, err)))
                goto fail;
        }
        if (!depth)
            break;
        v = stack[depth - 1].v.u.seq->item[stack[depth - 1].at];
    }
    *out = done;
    return CFX_OK;
fail:
    while (depth--)
        release_copy(&stack[depth]);
    return st;
}
