/*
 * strings -- operators of nested lists of str: joined, compared, looked up.
 *
 * They are what ONNX computes with tensors of strings.
 */
#include <string.h>

#include "ops/strings/strings.h"

/* ---- Arrays of str ---- */

static cfx_status read_argument(strings *s, int k, cfx_texts *out)
{
    cfx_error why = {0};
    cfx_status st = cfx_texts_read(out, &s->arena, s->call->in[k], &why);

    if (st == CFX_ENOMEM)
        return cfx_no_memory(s->call->err);
    return st ? cfx_call_fail(s->call, st, "%s", why.text) : CFX_OK;
}

cfx_status strings_read(strings *s, cfx_call *call)
{
    *s = (strings){.call = call};
    cfx_arena_init(&s->arena, call->ctx);
    return read_argument(s, 0, &s->self);
}

void strings_release(strings *s)
{
    cfx_arena_release(&s->arena);
}

void *strings_alloc(strings *s, size_t n, size_t size)
{
    size_t bytes;
    void *p = cfx_mul_size(&bytes, n + 1, size)
                  ? cfx_arena_alloc(&s->arena, bytes)
                  : NULL;

    if (p)
        memset(p, 0, bytes);
    else
        cfx_no_memory(s->call->err);
    return p;
}

cfx_status strings_return_take(strings *s, int rank, const int64_t *shape,
                               cfx_value *item, size_t n)
{
    cfx_value v = CFX_NOTHING;

    if (!n || item[n - 1].kind == CFX_STR)
        v = cfx_texts_value(s->call->ctx, rank, shape, item);
    for (size_t i = 0; i < n; i++)
        cfx_value_unref(item[i]);
    return cfx_call_return_take(s->call, v);
}

static cfx_status out_of_shape(cfx_call *call, cfx_dtype dtype, int rank,
                               const int64_t *shape)
{
    cfx_dim dim[CFX_MAX_RANK];

    for (int i = 0; i < rank; i++)
        dim[i] = cfx_dim_int(shape[i]);
    return cfx_call_out(call, dtype, rank, dim);
}

cfx_status strings_out_like(cfx_call *call, cfx_dtype dtype)
{
    strings s;
    cfx_status st = strings_read(&s, call);

    if (!st)
        st = out_of_shape(call, dtype, s.self.rank, s.self.shape);
    strings_release(&s);
    return st;
}

/* ---- Two arrays, broadcast ---- */

typedef struct pairs {
    strings s;
    cfx_texts other;
    int rank;
    int64_t shape[CFX_MAX_RANK];
    size_t n;
} pairs;

static cfx_status broadcast(pairs *p)
{
    const cfx_texts *from[] = {&p->s.self, &p->other};

    p->rank = from[0]->rank > from[1]->rank ? from[0]->rank : from[1]->rank;
    p->n = 1;
    for (int i = 0; i < p->rank; i++) {
        int64_t size = 1;
        for (int k = 0; k < 2; k++) {
            int at = i - (p->rank - from[k]->rank);
            int64_t one = at < 0 ? 1 : from[k]->shape[at];
            if (one != 1 && size != 1 && one != size)
                return cfx_call_fail(
                    p->s.call, CFX_ESHAPE,
                    "lists of %lld and %lld items do not broadcast",
                    (long long)size, (long long)one);
            size = one != 1 ? one : size;
        }
        p->shape[i] = size;
        if (!cfx_mul_size(&p->n, p->n, (size_t)size))
            return cfx_no_memory(p->s.call->err);
    }
    return CFX_OK;
}

static cfx_status pairs_read(pairs *p, cfx_call *call)
{
    *p = (pairs){0};
    cfx_status st = strings_read(&p->s, call);
    if (!st)
        st = read_argument(&p->s, 1, &p->other);
    return st ? st : broadcast(p);
}

/* The item of an array that belongs to item i of the result. */
static const cfx_string *item_at(const pairs *p, const cfx_texts *t, size_t i)
{
    size_t at = 0, stride = 1;

    for (int axis = p->rank, k = t->rank; k > 0; axis--) {
        size_t size = (size_t)p->shape[axis - 1];
        size_t own = (size_t)t->shape[--k];
        at += own == 1 ? 0 : i % size * stride;
        stride *= own;
        i /= size;
    }
    return t->item[at];
}

static cfx_value joined(strings *s, const cfx_string *a, const cfx_string *b)
{
    size_t len = (size_t)a->len + b->len;
    char *text = cfx_alloc(s->call->ctx, len + 1);
    cfx_value v = CFX_NOTHING;

    if (!text)
        return v;
    memcpy(text, a->text, a->len);
    memcpy(text + a->len, b->text, b->len);
    v = cfx_str_new(s->call->ctx, text, len);
    cfx_free(s->call->ctx, text, len + 1);
    return v;
}

static cfx_status concat_infer(cfx_call *call)
{
    pairs p;
    cfx_status st = pairs_read(&p, call);
    cfx_value *item = st ? NULL : strings_alloc(&p.s, p.n, sizeof(*item));
    size_t made = 0;

    for (bool ok = item; ok && made < p.n; made++) {
        item[made] = joined(&p.s, item_at(&p, &p.s.self, made),
                            item_at(&p, &p.other, made));
        ok = item[made].kind == CFX_STR;
    }
    if (item)
        st = strings_return_take(&p.s, p.rank, p.shape, item, made);
    strings_release(&p.s);
    return item || st ? st : CFX_ENOMEM;
}

const cfx_op cfx_op__string_concat = {
    .schema = "string_concat(any self, any other) -> any",
    .aliases = "torch.ops.cfx.string_concat",
    .doc =
        "The str of two nested lists joined, one by one, with broadcasting.",
    .infer = concat_infer,
};

static cfx_status equal_infer(cfx_call *call)
{
    pairs p;
    cfx_status st = pairs_read(&p, call);

    if (!st)
        st = out_of_shape(call, CFX_BOOL, p.rank, p.shape);
    strings_release(&p.s);
    return st;
}

static bool same_text(const cfx_string *a, const cfx_string *b)
{
    return a->len == b->len && !memcmp(a->text, b->text, a->len);
}

static cfx_status equal_run(cfx_call *call)
{
    bool *out = call->out[0]->data;
    pairs p;
    cfx_status st = pairs_read(&p, call);

    for (size_t i = 0; i < p.n && !st; i++)
        out[i] = same_text(item_at(&p, &p.s.self, i),
                           item_at(&p, &p.other, i));
    strings_release(&p.s);
    return st;
}

const cfx_op cfx_op__string_equal = {
    .schema = "string_equal(any self, any other) -> Tensor",
    .aliases = "torch.ops.cfx.string_equal",
    .doc =
        "Are the str of two nested lists equal, one by one, with broadcasting?",
    .infer = equal_infer,
    .run = equal_run,
};

/* ---- Looked up ---- */

static cfx_status index_infer(cfx_call *call)
{
    return strings_out_like(call, CFX_I64);
}

static cfx_status index_run(cfx_call *call)
{
    int64_t *out = call->out[0]->data;
    cfx_map places;
    strings s;
    cfx_status st = strings_read(&s, call);
    int n = cfx_call_len(call, 1);

    cfx_map_init(&places, call->ctx);
    for (int i = n; i-- > 0 && !st;) {
        const cfx_string *key = cfx_call_item(call, 1, i).u.str;
        cfx_map_entry *e = cfx_map_put(&places, key->text, key->len, NULL);
        if (e)
            e->v.p = (void *)(uintptr_t)i;
        else
            st = cfx_no_memory(call->err);
    }
    for (size_t i = 0; i < s.self.n && !st; i++) {
        const cfx_string *x = s.self.item[i];
        const cfx_map_entry *e = cfx_map_get(&places, x->text, x->len);
        out[i] = e ? (int64_t)(uintptr_t)e->v.p : n;
    }
    cfx_map_release(&places);
    strings_release(&s);
    return st;
}

const cfx_op cfx_op__string_index = {
    .schema = "string_index(any self, str[] keys) -> Tensor",
    .aliases = "torch.ops.cfx.string_index",
    .doc =
        "The place of each str among the keys, the first of equal ones; their number where it is none of them.",
    .infer = index_infer,
    .run = index_run,
};
