/*
 * op_names -- the names under which code calls an operator.
 *
 * A word of `aliases` is a full name; a namespace, which ends in a dot and stands
 * for the schema's name in it; or an overload of ATen, which begins with a dot.
 * "aten." is the schema's own overload. ATen has the functions and methods of
 * torch under the same names, so that "torch. torch.clip aten. .Scalar" of
 * clamp.Tensor are torch.clamp, torch.clip, and the overloads Tensor and Scalar
 * of both aten.clamp and aten.clip. Types in parentheses may follow a word:
 * those of the overload's first parameters (lib/op/schema.c).
 */
#include "op/op_names.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 128 };

/* The namespaces of Python in which ATen's operators are, and what their names
 * begin with in ATen: torch.linalg.inv is aten.linalg_inv. */
static const struct {
    const char *space, *prefix;
} spaces[] = {
    {"torch.linalg.", "linalg_"},
    {"torch.fft.", "fft_"},
    {"torch.special.", "special_"},
    {"Tensor.", ""},
    {"torch.", ""},
};

/* A list of words of an operator, and who wants the names. */
struct names {
    const cfx_op *op;
    const char *list;
    const char *ending; /* "_" of names in place, or "" */
    const char *types;  /* of the word, or NULL */
    cfx_op__typed_name_fn *fn;
    void *user;
};

static bool begins(const char *s, size_t len, const char *with)
{
    size_t n = strlen(with);
    return len >= n && !memcmp(s, with, n);
}

/* The row of `spaces` that a word is in, or -1. */
static int space_of(const char *word, size_t len)
{
    int n = (int)(sizeof(spaces) / sizeof(*spaces));
    for (int i = 0; i < n; i++)
        if (begins(word, len, spaces[i].space))
            return i;
    return -1;
}

/* "torch.relu" gives "torch.relu_"; "aten.relu.default" "aten.relu_.default".
 */
static size_t inplace_name(char *buf, const char *name, size_t len)
{
    size_t cut = len;
    if (begins(name, len, "aten."))
        while (cut > 5 && name[cut - 1] != '.')
            cut--;
    if (cut != len)
        cut--;
    int n = snprintf(buf, NAME_SIZE, "%.*s_%.*s", (int)cut, name,
                     (int)(len - cut), name + cut);
    return n > 0 && n < NAME_SIZE ? (size_t)n : 0;
}

/* Is the first parameter a number, to which nothing is written? */
static bool is_of_number(const char *types)
{
    return types && begins(types, strlen(types), "(Scalar");
}

/* The length of a word without its types. */
static size_t word_length(const char *word)
{
    return strcspn(word, "( ");
}

/* Give a name, and, if the operator has a form in place, the name of that. */
static cfx_status give(const struct names *all, const char *name, size_t len)
{
    char buf[NAME_SIZE];
    cfx_status st = all->fn(all->user, name, len, *all->ending, NULL,
                            all->types);
    bool python = begins(name, len, "operator.");
    /* Python's `a += b` makes a new value if a is a number. */
    if (!st && *all->ending && python)
        st = all->fn(all->user, name, len, false, NULL, all->types);
    if (st || *all->ending || !(all->op->flags & CFX_OP_INPLACE) || python ||
        is_of_number(all->types))
        return st;
    size_t n = inplace_name(buf, name, len);
    return n ? all->fn(all->user, buf, n, true, NULL, all->types) : CFX_OK;
}

/* Give a text of n bytes that was printed; one that does not fit is no name. */
static cfx_status give_printed(const struct names *all, const char *buf, int n)
{
    return n > 0 && n < NAME_SIZE ? give(all, buf, (size_t)n) : CFX_OK;
}

/* The schema's name in a namespace of Python, without what that says. */
static cfx_status give_in(const struct names *all, const char *space,
                          size_t len)
{
    char buf[NAME_SIZE];
    const char *name = all->op->schema;
    size_t n = strcspn(name, ".(");
    int row = space_of(space, len);
    size_t skip = row >= 0 && begins(name, n, spaces[row].prefix)
                      ? strlen(spaces[row].prefix)
                      : 0;
    int k = snprintf(buf, sizeof(buf), "%.*s%.*s%s", (int)len, space,
                     (int)(n - skip), name + skip, all->ending);
    return give_printed(all, buf, k);
}

/* An overload of ATen, ".Tensor", of a name. */
struct overload {
    const char *text;
    size_t len;
};

static struct overload own_overload(const cfx_op *op)
{
    const char *dot = op->schema + strcspn(op->schema, ".(");
    size_t n = strcspn(dot, "(");
    return n ? (struct overload){dot, n} : (struct overload){".default", 8};
}

static cfx_status give_aten(const struct names *all, const char *prefix,
                            const char *name, size_t len, struct overload of)
{
    char buf[NAME_SIZE];
    int k = snprintf(buf, sizeof(buf), "aten.%s%.*s%s%.*s", prefix, (int)len,
                     name, all->ending, (int)of.len, of.text);
    return give_printed(all, buf, k);
}

/* Is a word a function or method of torch whose name in ATen is neither the
 * schema's nor that of an earlier word? */
static bool is_synonym(const struct names *all, const char *word, size_t len)
{
    int row = space_of(word, len);
    if (row < 0)
        return false;
    const char *name = word + strlen(spaces[row].space);
    size_t n = len - strlen(spaces[row].space);
    if (!n || memchr(name, '.', n) || *name == '_')
        return false;
    for (const char *p = all->list; p < word; p += strspn(p, " ")) {
        size_t k = word_length(p);
        int at = space_of(p, k);
        if (at >= 0 && k - strlen(spaces[at].space) == n &&
            !memcmp(p + k - n, name, n) &&
            !strcmp(spaces[at].prefix, spaces[row].prefix))
            return false;
        p += strcspn(p, " ");
    }
    return true;
}

/* An overload of the schema's name and of its synonyms. */
static cfx_status give_overload(const struct names *all, struct overload of)
{
    const char *name = all->op->schema;
    cfx_status st = give_aten(all, "", name, strcspn(name, ".("), of);
    for (const char *p = all->list; *p && !st; p += strspn(p, " ")) {
        size_t n = word_length(p);
        if (is_synonym(all, p, n)) {
            int row = space_of(p, n);
            size_t skip = strlen(spaces[row].space);
            st = give_aten(all, spaces[row].prefix, p + skip, n - skip, of);
        }
        p += strcspn(p, " ");
    }
    return st;
}

static cfx_status give_list(struct names *all)
{
    cfx_status st = CFX_OK;
    for (const char *p = all->list; p && *p && !st; p += strspn(p, " ")) {
        size_t n = word_length(p);
        all->types = p[n] == '(' ? p + n : NULL;
        if (n == 5 && begins(p, n, "aten."))
            st = give_overload(all, own_overload(all->op));
        else if (*p == '.')
            st = give_overload(all, (struct overload){p, n});
        else if (n && p[n - 1] == '.')
            st = give_in(all, p, n);
        else if (n)
            st = give(all, p, n);
        p += strcspn(p, " ");
    }
    return st;
}

cfx_status cfx_op__typed_names(const cfx_op *op, cfx_op__typed_name_fn *fn,
                               void *user)
{
    struct names all = {op, op->aliases, "", NULL, fn, user};
    cfx_status st = give_list(&all);
    all.list = op->inplace_aliases;
    all.ending = "_";
    if (!st)
        st = give_list(&all);
    for (const cfx_variant *v = op->variants; v && v->schema && !st; v++)
        st = fn(user, v->schema, strcspn(v->schema, "("), false, v, NULL);
    return st;
}

/* Who wants the names without types. */
struct untyped {
    cfx_op_name_fn *fn;
    void *user;
};

static cfx_status give_untyped(void *user, const char *name, size_t len,
                               bool inplace, const cfx_variant *how,
                               const char *types)
{
    const struct untyped *u = user;
    (void)types;
    return u->fn(u->user, name, len, inplace, how);
}

cfx_status cfx_op_names(const cfx_op *op, cfx_op_name_fn *fn, void *user)
{
    struct untyped u = {fn, user};
    return cfx_op__typed_names(op, give_untyped, &u);
}

/* ---- One name ---- */

struct search {
    const char *overload;
    const char *ending; /* "_" in place, or "" */
    char *buf;
    size_t size;
    bool found;
};

static cfx_status look_at(void *user, const char *name, size_t len,
                          bool inplace, const cfx_variant *how)
{
    struct search *s = user;
    const char *dot = begins(name, len, "aten.")
                          ? memchr(name + 5, '.', len - 5)
                          : NULL;
    if (s->found || inplace || how || !dot)
        return CFX_OK;
    size_t base = (size_t)(dot - name), n = len - base - 1;
    if (s->overload &&
        (n != strlen(s->overload) || memcmp(dot + 1, s->overload, n)))
        return CFX_OK;
    int k = snprintf(s->buf, s->size, "torch.ops.%.*s%s.%.*s", (int)base, name,
                     s->ending, (int)n, dot + 1);
    s->found = k > 0 && (size_t)k < s->size;
    return CFX_OK;
}

bool cfx_op__aten_name(const cfx_op *op, bool inplace, const char *overload,
                       char *buf, size_t size)
{
    struct search s = {overload, inplace ? "_" : "", buf, size, false};
    (void)cfx_op_names(op, look_at, &s);
    return s.found;
}
