/*
 * effects_seen -- a cache of effects by call signature.
 *
 * A graph has few kinds of calls, and binding is slower than a lookup. The key
 * of a call has its target, plain values, and the index of the input for each
 * node. Calls with a possible graph, or with values that own memory, are not
 * cached.
 */
#include "graph/effects_seen.h"
#include "graph/graph_impl.h"
#include "graph/module_effects.h"

static bool put(cfx_call_key *key, uint8_t kind, uint64_t bits)
{
    if (key->n == CFX_KEY_VALUES)
        return false;
    key->kind[key->n] = kind;
    key->bits[key->n++] = bits;
    return true;
}

static bool put_input(cfx_call_key *key, const cfx_node *n, const cfx_node *in)
{
    uint64_t i = 0;
    while (i < n->ninputs && cfx_node_input(n, (uint32_t)i) != in)
        i++;
    return in->op != CFX_GET_ATTR && put(key, CFX_NODE, i);
}

static bool put_value(cfx_call_key *key, const cfx_node *n, cfx_value v)
{
    uint64_t bits = 0;
    switch (v.kind) {
    case CFX_NODE: return put_input(key, n, v.u.node);
    case CFX_INT: return put(key, v.kind, (uint64_t)v.u.i);
    case CFX_FLOAT:
        memcpy(&bits, &v.u.f, sizeof(bits));
        return put(key, v.kind, bits);
    case CFX_BOOL_VALUE: return put(key, v.kind, v.u.b);
    case CFX_DTYPE: return put(key, v.kind, (uint64_t)v.u.dtype);
    case CFX_NONE: return put(key, v.kind, 0);
    default: return false;
    }
}

/* False if n has no key. Strings of a graph are interned. */
static bool make_key(cfx_call_key *key, const cfx_node *n)
{
    key->target = n->target;
    key->op = n->op;
    key->n = 0;
    key->nargs = n->nargs;
    if (n->op != CFX_CALL_FUNCTION && n->op != CFX_CALL_METHOD)
        return false;
    for (uint32_t i = 0; i < n->nargs; i++)
        if (!put_value(key, n, n->args[i]))
            return false;
    for (uint32_t i = 0; i < n->nkwargs; i++)
        if (!put(key, CFX_STR, (uintptr_t)n->kwargs[2 * i].u.str) ||
            !put_value(key, n, n->kwargs[2 * i + 1]))
            return false;
    return true;
}

static bool same(const cfx_call_key *a, const cfx_call_key *b)
{
    return a->target == b->target && a->op == b->op && a->n == b->n &&
           a->nargs == b->nargs && !memcmp(a->kind, b->kind, a->n) &&
           !memcmp(a->bits, b->bits, a->n * sizeof(*a->bits));
}

static size_t place_of(const cfx_call_key *key)
{
    uint64_t h = (uintptr_t)key->target / 16 + key->op + key->n;
    for (uint32_t i = 0; i < key->n; i++)
        h = h * 31 + key->bits[i] + key->kind[i];
    return (h * UINT64_C(0x9E3779B97F4A7C15)) >> 59;
}

static_assert(CFX_EFFECTS_SEEN == 1 << (64 - 59), "a place is below it");

cfx_status cfx_effects_seen__find(cfx_effects_seen *seen, const cfx_node *n,
                                  cfx_effects *out, cfx_error *err)
{
    cfx_call_key key;
    if (!make_key(&key, n))
        return cfx_node__effects_at(n, out, seen->depth, err);
    size_t i = place_of(&key);
    if (seen->key[i].target && same(&seen->key[i], &key)) {
        *out = seen->effects[i];
        return CFX_OK;
    }
    cfx_status st = cfx_node__effects_at(n, out, seen->depth, err);
    if (!st) {
        seen->key[i] = key;
        seen->effects[i] = *out;
    }
    return st;
}
