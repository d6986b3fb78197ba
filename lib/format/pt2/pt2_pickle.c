/*
 * pt2_pickle -- read the pickles of torch.save, without executing anything.
 *
 * A pickle is a program for a stack machine. The few instructions that
 * torch.save writes (protocol 2) are known here; those that call something do
 * so only for a few names, which make plain values. Each instruction takes
 * memory in proportion to its bytes.
 */
#include "format/pt2/pt2_pickle.h"

#include "base/util.h"
#include "format/pt2/pt2_write.h"

typedef cfx_pickled item;

typedef struct machine {
    cfx_arena *arena;
    cfx_context *ctx;
    const unsigned char *data, *p, *end;
    item **stack; /* NULL: a mark */
    size_t n, cap;
    item **memo;
    size_t nmemo, memo_cap;
    size_t left; /* bytes that values may still take */
    cfx_error *err;
} machine;

static cfx_status fail(machine *m, const char *what)
{
    return cfx_fail(m->err, CFX_EPARSE, "the pickle has %s at byte %zu", what,
                    (size_t)(m->p - m->data));
}

/* ---- Values ---- */

/* Memory for a part of a value. */
static cfx_status take_memory(machine *m, size_t size, void **out)
{
    *out = NULL;
    if (size > m->left)
        return cfx_fail(
            m->err, CFX_ELIMIT,
            "the pickle makes values out of proportion to the bytes of its file");
    m->left -= size;
    *out = cfx_arena_alloc(m->arena, size);
    return *out ? CFX_OK : cfx_no_memory(m->err);
}

static cfx_status make(machine *m, cfx_pickled_kind kind, item **out)
{
    void *memory;
    cfx_status st = take_memory(m, sizeof(item), &memory);

    *out = memory;
    if (!st)
        **out = (item){.kind = kind};
    return st;
}

static cfx_status push(machine *m, item *v)
{
    if (cfx_grow(m->ctx, m->stack, m->cap, m->n + 1, m->err))
        return CFX_ENOMEM;
    m->stack[m->n++] = v;
    return CFX_OK;
}

static cfx_status push_new(machine *m, cfx_pickled_kind kind, int64_t i,
                           double f)
{
    item *v;
    cfx_status st = make(m, kind, &v);

    if (st)
        return st;
    v->i = i;
    v->f = f;
    return push(m, v);
}

static cfx_status push_text(machine *m, cfx_pickled_kind kind, const char *s,
                            size_t len)
{
    item *v;
    void *text;
    cfx_status st = make(m, kind, &v);

    if (!st)
        st = take_memory(m, len + 1, &text);
    if (st)
        return st;
    memcpy(text, s, len);
    ((char *)text)[len] = '\0';
    v->text = text;
    v->len = len;
    return push(m, v);
}

static cfx_status append(machine *m, item *list, item *v)
{
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 4;
        void *more;
        cfx_status st = take_memory(m, cap * sizeof(item *), &more);
        if (st)
            return st;
        if (list->n)
            memcpy(more, list->item, list->n * sizeof(item *));
        list->item = more;
        list->cap = cap;
    }
    list->item[list->n++] = v;
    return CFX_OK;
}

/* The value at the top, taken off the stack; NULL with an error. */
static item *pop(machine *m)
{
    if (m->n && m->stack[m->n - 1])
        return m->stack[--m->n];
    fail(m, "no value where one is needed");
    return NULL;
}

/* The index after the last mark, or SIZE_MAX with an error. */
static size_t find_mark(machine *m)
{
    for (size_t i = m->n; i > 0; i--)
        if (!m->stack[i - 1])
            return i;
    fail(m, "no mark where one is needed");
    return SIZE_MAX;
}

/* ---- Aggregates ---- */

/* A tuple of the values from index `from` on, instead of them; the mark before
 * them, if any, goes as well. */
static cfx_status make_tuple(machine *m, size_t from, bool marked)
{
    item *v;
    cfx_status st = make(m, CFX_PICKLED_TUPLE, &v);

    for (size_t i = from; i < m->n && !st; i++)
        st = m->stack[i] ? append(m, v, m->stack[i])
                         : fail(m, "a mark in a tuple");
    if (st)
        return st;
    m->n = from - marked;
    return push(m, v);
}

static cfx_status make_short_tuple(machine *m, size_t n)
{
    return m->n < n ? fail(m, "a tuple of too few values")
                    : make_tuple(m, m->n - n, false);
}

/* Append the values from index `from` on to the aggregate below them. */
static cfx_status extend(machine *m, size_t from, bool marked,
                         cfx_pickled_kind kind)
{
    size_t below = from - marked;
    item *to = below && below <= m->n ? m->stack[below - 1] : NULL;
    cfx_status st = CFX_OK;

    if (!to || to->kind != kind)
        return fail(m, "nothing to append to");
    if (kind == CFX_PICKLED_DICT && (m->n - from) % 2)
        return fail(m, "a key without a value");
    for (size_t i = from; i < m->n && !st; i++)
        st = m->stack[i] ? append(m, to, m->stack[i])
                         : fail(m, "a mark in a list");
    m->n = below;
    return st;
}

static cfx_status extend_marked(machine *m, cfx_pickled_kind kind)
{
    size_t from = find_mark(m);

    return from == SIZE_MAX ? CFX_EPARSE : extend(m, from, true, kind);
}

static cfx_status extend_last(machine *m, size_t n, cfx_pickled_kind kind)
{
    return m->n < n ? fail(m, "nothing to append")
                    : extend(m, m->n - n, false, kind);
}

/* ---- Tensors ---- */

/* ('storage', torch.FloatStorage, key, device, numel) becomes a storage. */
static cfx_status push_storage(machine *m)
{
    item *id = pop(m);

    if (!id)
        return CFX_EPARSE;
    bool good = id->kind == CFX_PICKLED_TUPLE && id->n >= 3 &&
                id->item[1]->kind == CFX_PICKLED_GLOBAL &&
                id->item[2]->kind == CFX_PICKLED_STR;
    if (!good)
        return fail(m, "an unknown storage");
    for (int t = 0; t < CFX_NDTYPES; t++) {
        const char *name = cfx_pt2__storages[t];
        if (!name || strcmp(name, id->item[1]->text) != 0)
            continue;
        item *v;
        cfx_status st = make(m, CFX_PICKLED_STORAGE, &v);
        if (st)
            return st;
        v->dtype = (cfx_dtype)t;
        v->text = id->item[2]->text;
        v->len = id->item[2]->len;
        return push(m, v);
    }
    return cfx_fail(m->err, CFX_EUNSUPPORTED, "a %.100s is not supported",
                    id->item[1]->text);
}

/* (storage, offset, size, stride, requires_grad, hooks) */
static cfx_status push_tensor(machine *m, const item *args)
{
    bool good = args->n >= 4 && args->item[0]->kind == CFX_PICKLED_STORAGE &&
                args->item[1]->kind == CFX_PICKLED_INT &&
                args->item[2]->kind == CFX_PICKLED_TUPLE &&
                args->item[3]->kind == CFX_PICKLED_TUPLE &&
                args->item[2]->n == args->item[3]->n;
    item *v;
    cfx_status st = good ? make(m, CFX_PICKLED_TENSOR, &v)
                         : fail(m, "a tensor that is not one of torch.save");

    if (st)
        return st;
    v->storage = args->item[0];
    v->i = args->item[1]->i;
    v->size = args->item[2];
    v->stride = args->item[3];
    return push(m, v);
}

static cfx_status push_first(machine *m, const item *args)
{
    return args->n ? push(m, args->item[0]) : fail(m, "a call without values");
}

static cfx_status push_dict(machine *m, const item *args)
{
    return args->n ? fail(m, "an OrderedDict with values")
                   : push_new(m, CFX_PICKLED_DICT, 0, 0);
}

/* A set is the list that it is made of. */
static cfx_status push_set(machine *m, const item *args)
{
    return args->n ? push(m, args->item[0])
                   : push_new(m, CFX_PICKLED_TUPLE, 0, 0);
}

/* (function, type, arguments, attributes): a tensor whose attributes are
 * dropped. */
static cfx_status push_typed_tensor(machine *m, const item *args)
{
    bool good = args->n >= 3 && args->item[0]->kind == CFX_PICKLED_GLOBAL &&
                !strcmp(args->item[0]->text,
                        "torch._utils _rebuild_tensor_v2") &&
                args->item[2]->kind == CFX_PICKLED_TUPLE;

    return good ? push_tensor(m, args->item[2])
                : fail(m, "a tensor of another type");
}

/* The functions that a pickle may call. */
static const struct {
    const char *name;
    cfx_status (*call)(machine *m, const item *args);
} functions[] = {
    {"torch._utils _rebuild_tensor_v2", push_tensor},
    {"torch._utils _rebuild_parameter", push_first},
    {"collections OrderedDict", push_dict},
    {"torch._tensor _rebuild_from_type_v2", push_typed_tensor},
    {"torch Size", push_first},
    {"__builtin__ set", push_set},
    {"builtins set", push_set},
};

/* An object of a class, such as a whole module. */
static cfx_status refuse_object(machine *m)
{
    item *args = pop(m), *class = args ? pop(m) : NULL;

    if (!class)
        return CFX_EPARSE;
    /* A mark of torch._dynamo.mark_dynamic: its state is dropped. */
    if (class->kind == CFX_PICKLED_GLOBAL &&
        !strcmp(class->text, "torch._dynamo.decorators _DimRange"))
        return push_new(m, CFX_PICKLED_DICT, 0, 0);
    return class->kind == CFX_PICKLED_GLOBAL
               ? cfx_fail(
                     m->err, CFX_EUNSUPPORTED,
                     "the pickle has an object of the class '%.200s', where tensors are read: save the state_dict() of a module",
                     class->text)
               : fail(m, "an object of no class");
}

static cfx_status call(machine *m)
{
    item *args = pop(m), *f = args ? pop(m) : NULL;

    if (!f)
        return CFX_EPARSE;
    if (f->kind != CFX_PICKLED_GLOBAL || args->kind != CFX_PICKLED_TUPLE)
        return fail(m, "a call of no function");
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
        if (!strcmp(functions[i].name, f->text))
            return functions[i].call(m, args);
    return cfx_fail(m->err, CFX_EUNSUPPORTED,
                    "the pickle calls '%.200s', which is not executed",
                    f->text);
}

/* ---- Bytes ---- */

static cfx_status need(machine *m, size_t n)
{
    return (size_t)(m->end - m->p) >= n ? CFX_OK : fail(m, "its end");
}

/* An unsigned little-endian number of n bytes, which must be there. */
static uint64_t take(machine *m, size_t n)
{
    uint64_t v = 0;

    for (size_t i = n; i > 0; i--)
        v = v << 8 | m->p[i - 1];
    m->p += n;
    return v;
}

static cfx_status read_text(machine *m, size_t length_bytes)
{
    cfx_status st = need(m, length_bytes);
    uint64_t len = st ? 0 : take(m, length_bytes);

    if (!st && len > (uint64_t)(m->end - m->p))
        st = fail(m, "a text that is longer than it");
    if (st)
        return st;
    m->p += len;
    return push_text(m, CFX_PICKLED_STR, (const char *)m->p - len,
                     (size_t)len);
}

/* "module\nname\n" becomes "module name". */
static cfx_status read_global(machine *m)
{
    const unsigned char *line = memchr(m->p, '\n', (size_t)(m->end - m->p));
    const unsigned char *next = line ? memchr(line + 1, '\n',
                                              (size_t)(m->end - line - 1))
                                     : NULL;

    if (!next)
        return fail(m, "its end in a name");
    cfx_status st = push_text(m, CFX_PICKLED_GLOBAL, (const char *)m->p,
                              (size_t)(next - m->p));
    if (!st)
        ((char *)(uintptr_t)m->stack[m->n - 1]->text)[line - m->p] = ' ';
    m->p = next + 1;
    return st;
}

/* A signed little-endian number of n bytes. */
static cfx_status read_long(machine *m)
{
    cfx_status st = need(m, 1);
    size_t n = st ? 0 : (size_t)take(m, 1);

    if (!st)
        st = n <= 8 ? need(m, n) : fail(m, "a number of more than 64 bits");
    if (st)
        return st;
    uint64_t v = take(m, n);
    if (n && n < 8 && v >> (8 * n - 1))
        v |= UINT64_MAX << 8 * n;
    return push_new(m, CFX_PICKLED_INT, (int64_t)v, 0);
}

static cfx_status read_double(machine *m)
{
    uint64_t bits = 0;
    double f;
    cfx_status st = need(m, 8);

    for (int i = 0; !st && i < 8; i++)
        bits = bits << 8 | m->p[i];
    if (st)
        return st;
    m->p += 8;
    memcpy(&f, &bits, sizeof(f));
    return push_new(m, CFX_PICKLED_FLOAT, 0, f);
}

static cfx_status read_int(machine *m, size_t n)
{
    cfx_status st = need(m, n);
    uint64_t v = st ? 0 : take(m, n);

    return st ? st
              : push_new(m, CFX_PICKLED_INT,
                         n == 4 ? (int32_t)(uint32_t)v : (int64_t)v, 0);
}

/* ---- The memo ---- */

static cfx_status put(machine *m, size_t bytes)
{
    cfx_status st = need(m, bytes);
    size_t i = st ? 0 : bytes ? (size_t)take(m, bytes) : m->nmemo;

    if (!st && (!m->n || !m->stack[m->n - 1]))
        st = fail(m, "nothing to remember");
    if (!st && i > (size_t)(m->end - m->data))
        st = fail(m, "a place in the memo that is too high");
    size_t have = m->memo_cap;
    if (!st)
        st = cfx_grow(m->ctx, m->memo, m->memo_cap, i + 1, m->err);
    if (st)
        return st;
    memset(m->memo + have, 0, (m->memo_cap - have) * sizeof(*m->memo));
    m->memo[i] = m->stack[m->n - 1];
    m->nmemo = m->nmemo > i ? m->nmemo : i + 1;
    return CFX_OK;
}

static cfx_status get(machine *m, size_t bytes)
{
    cfx_status st = need(m, bytes);
    size_t i = st ? 0 : (size_t)take(m, bytes);

    if (!st && (i >= m->memo_cap || !m->memo[i]))
        st = fail(m, "a value that it did not remember");
    return st ? st : push(m, m->memo[i]);
}

/* ---- Instructions ---- */

/* The state of an OrderedDict (the versions of modules) is dropped. */
static cfx_status build(machine *m)
{
    item *state = pop(m);

    if (!state)
        return CFX_EPARSE;
    return m->n && m->stack[m->n - 1] &&
                   m->stack[m->n - 1]->kind == CFX_PICKLED_DICT
               ? CFX_OK
               : fail(m, "an object with a state");
}

static cfx_status skip(machine *m, size_t n)
{
    cfx_status st = need(m, n);

    m->p += st ? 0 : n;
    return st;
}

static cfx_status make_marked_tuple(machine *m)
{
    size_t from = find_mark(m);

    return from == SIZE_MAX ? CFX_EPARSE : make_tuple(m, from, true);
}

static cfx_status step(machine *m, unsigned char op)
{
    switch (op) {
    case 0x80: return skip(m, 1); /* PROTO */
    case 0x95: return skip(m, 8); /* FRAME */
    case '(': return push(m, NULL);
    case 'N': return push_new(m, CFX_PICKLED_NONE, 0, 0);
    case 0x88: return push_new(m, CFX_PICKLED_BOOL, 1, 0);
    case 0x89: return push_new(m, CFX_PICKLED_BOOL, 0, 0);
    case 'K': return read_int(m, 1);
    case 'M': return read_int(m, 2);
    case 'J': return read_int(m, 4);
    case 0x8a: return read_long(m);
    case 'G': return read_double(m);
    case 'X': return read_text(m, 4);
    case 0x8c: return read_text(m, 1);
    case 'c': return read_global(m);
    case ')': return make_short_tuple(m, 0);
    case 0x85: return make_short_tuple(m, 1);
    case 0x86: return make_short_tuple(m, 2);
    case 0x87: return make_short_tuple(m, 3);
    case 't': return make_marked_tuple(m);
    case ']': return push_new(m, CFX_PICKLED_LIST, 0, 0);
    case '}': return push_new(m, CFX_PICKLED_DICT, 0, 0);
    case 'a': return extend_last(m, 1, CFX_PICKLED_LIST);
    case 'e': return extend_marked(m, CFX_PICKLED_LIST);
    case 's': return extend_last(m, 2, CFX_PICKLED_DICT);
    case 'u': return extend_marked(m, CFX_PICKLED_DICT);
    case 'q': return put(m, 1);
    case 'r': return put(m, 4);
    case 0x94: return put(m, 0);
    case 'h': return get(m, 1);
    case 'j': return get(m, 4);
    case 'Q': return push_storage(m);
    case 'R': return call(m);
    case 0x81: return refuse_object(m);
    case 'b': return build(m);
    default: return fail(m, "an instruction that torch.save does not write");
    }
}

cfx_status cfx_pickle_read(cfx_pickled **out, cfx_arena *arena,
                           const unsigned char *data, size_t len, size_t most,
                           cfx_error *err)
{
    machine m = {.arena = arena,
                 .ctx = arena->ctx,
                 .data = data,
                 .p = data,
                 .end = data + len,
                 .left = most,
                 .err = err};
    cfx_status st = CFX_OK;
    bool stopped = false;

    *out = NULL;
    while (!st && !stopped) {
        st = need(&m, 1);
        stopped = !st && *m.p == '.';
        if (!st && !stopped)
            st = step(&m, *m.p++);
    }
    if (!st)
        *out = pop(&m);
    st = st || *out ? st : CFX_EPARSE;
    if (m.stack)
        cfx_free(m.ctx, m.stack, m.cap * sizeof(*m.stack));
    if (m.memo)
        cfx_free(m.ctx, m.memo, m.memo_cap * sizeof(*m.memo));
    return st;
}
