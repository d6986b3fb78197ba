/*
 * grammar -- change a model's text where its grammar has something to change:
 * the operator of a call, an argument, a node that is read.
 *
 * Names of operators are those of the whole registry; values are of every kind.
 */
#include "tests/fuzz/targets.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/op.h>

enum { NAMES = 1 << 14, SPANS = 1 << 10 };

/* ---- The names of operators ---- */

typedef struct names {
    cfx_context *ctx;
    char *name[NAMES];
    size_t n;
} names;

static cfx_status add_name(void *user, const char *name, size_t len,
                           bool inplace, const cfx_variant *how)
{
    names *all = user;
    (void)inplace;
    (void)how;
    if (all->n < NAMES && (all->name[all->n] = strndup(name, len)))
        all->n++;
    return CFX_OK;
}

/* They live as long as the program. */
static const names *registered(void)
{
    static names all;
    const cfx_op *op;
    if (all.n || cfx_context_new(&all.ctx, NULL, NULL))
        return &all;
    for (size_t i = 0; (op = cfx_op_at(all.ctx, i)); i++)
        for (; op; op = op->next)
            cfx_op_names(op, add_name, &all);
    return &all;
}

/* ---- Pieces of the text ---- */

typedef struct span {
    size_t at, len;
} span;

typedef struct text {
    const char *s;
    size_t size;
    span span[SPANS];
    size_t n;
} text;

static void add_span(text *t, size_t at, size_t len)
{
    if (t->n < SPANS)
        t->span[t->n++] = (span){at, len};
}

static size_t find(const text *t, size_t from, const char *word)
{
    size_t n = strlen(word);
    for (; from + n <= t->size; from++)
        if (!memcmp(t->s + from, word, n))
            return from;
    return t->size;
}

/* "call_function[target=NAME]" from its opcode on. */
static void find_calls(text *t)
{
    static const char *const word[] = {"call_function[target=",
                                       "call_method[target="};
    for (int i = 0; i < 2; i++)
        for (size_t at = 0; (at = find(t, at, word[i])) < t->size; at++) {
            size_t end = at;
            while (end < t->size && t->s[end] != ']' && t->s[end] != '\n')
                end++;
            if (end < t->size && t->s[end] == ']')
                add_span(t, at, end + 1 - at);
        }
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || strchr("%_.-+", c);
}

/* Words among the arguments of calls: numbers, names, nodes. */
static void find_words(text *t, bool nodes)
{
    for (size_t at = 0; (at = find(t, at, "](")) < t->size;) {
        for (; at < t->size && t->s[at] != '\n'; at++) {
            size_t len = 0;
            while (at + len < t->size && t->s[at + len] &&
                   is_word(t->s[at + len]))
                len++;
            bool key = at + len < t->size &&
                       strchr(":=[", t->s[at + len]) != NULL;
            bool head = len == 4 && !memcmp(t->s + at, "args", 4);
            if (len && !key && !head && (!nodes || t->s[at] == '%'))
                add_span(t, at, len);
            at += len;
        }
    }
}

/* Names of nodes, where they are made. */
static void find_made(text *t)
{
    for (size_t at = 0; at < t->size; at++) {
        size_t end = at;
        if (t->s[at] != '%' || at < 4 || memcmp(t->s + at - 4, "    ", 4))
            continue;
        while (end < t->size && t->s[end] != ' ' && t->s[end] != '\n')
            end++;
        add_span(t, at, end - at);
    }
}

/* ---- Changes ---- */

static uint64_t chance(uint64_t *state, uint64_t n)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1D % n;
}

static const char *some_value(uint64_t *state)
{
    /* clang-format off */
    static const char *const value[] = {
        "0", "1", "-1", "2", "3", "7", "9223372036854775807",
        "-9223372036854775808", "4611686018427387904", "2147483648", "0.5",
        "-1.5", "nan", "inf", "-inf", "1e308", "2j", "(1+2j)", "True", "False",
        "None", "'a'", "mean", "floor", "[]", "()", "[1, 2]", "(2, 3)",
        "[2.5]", "[True]", "['a']", "[None]", "[[1], [2, 3]]", "(1, (2.5,))",
        "{}", "{'a': 1}", "slice(None, None, None)", "slice(1, 9, -1)",
        "range(0, 3, 1)", "Ellipsis", "torch.float32", "torch.int64",
        "torch.complex64", "torch.bool", "torch.channels_last",
        "torch.strided", "device(type='cpu')",
    };
    /* clang-format on */
    return value[chance(state, sizeof(value) / sizeof(*value))];
}

/* The text with a piece replaced; the same if there is no room. */
static size_t replace(uint8_t *to, size_t size, size_t room, span s,
                      const char *by, size_t len)
{
    if (size - s.len + len > room)
        return size;
    memmove(to + s.at + len, to + s.at + s.len, size - s.at - s.len);
    memcpy(to + s.at, by, len);
    return size - s.len + len;
}

static size_t change_call(uint8_t *to, size_t size, size_t room, span s,
                          uint64_t *state)
{
    const names *all = registered();
    const char *name = all->n ? all->name[chance(state, all->n)] : "relu";
    bool method = !strncmp(name, "Tensor.", 7);
    char by[256];
    int n = snprintf(by, sizeof(by), "%s[target=%s%s]",
                     method ? "call_method" : "call_function",
                     !strncmp(name, "aten.", 5) ? "torch.ops." : "",
                     method ? name + 7 : name);
    return n < 0 || (size_t)n >= sizeof(by)
               ? size
               : replace(to, size, room, s, by, (size_t)n);
}

/* A value beside a word, or without the word. */
static size_t change_count(uint8_t *to, size_t size, size_t room, span s,
                           uint64_t *state)
{
    char by[128];
    int n = snprintf(by, sizeof(by), "%.*s, %s",
                     (int)(s.len < 40 ? s.len : 40), (const char *)to + s.at,
                     some_value(state));
    return replace(to, size, room, s, by, (size_t)n);
}

static size_t rewire(uint8_t *to, size_t size, size_t room, span s,
                     uint64_t *state)
{
    text made = {.s = (const char *)to, .size = size};
    char by[64];
    find_made(&made);
    span from = made.n ? made.span[chance(state, made.n)] : s;
    if (from.len > sizeof(by))
        return size;
    memcpy(by, to + from.at, from.len);
    return replace(to, size, room, s, by, from.len);
}

size_t fuzz_change_text(uint8_t *to, size_t size, size_t room, uint64_t *state)
{
    text t = {.s = (const char *)to, .size = size};
    uint64_t how = chance(state, 8);
    if (how < 3)
        find_calls(&t);
    else
        find_words(&t, how > 6);
    if (!t.n)
        return size;
    span s = t.span[chance(state, t.n)];
    const char *value = some_value(state);
    return how < 3    ? change_call(to, size, room, s, state)
           : how == 3 ? change_count(to, size, room, s, state)
           : how > 6  ? rewire(to, size, room, s, state)
                      : replace(to, size, room, s, value, strlen(value));
}
