/*
 * code_names -- names in generated Python code: of nodes, functions and types.
 */
#include "format/python/coder.h"

/* ---- Names ---- */

static const char *make_name(cfx_coder *c, const char *candidate, bool any)
{
    const char *name = cfx_names_create(&c->names, candidate,
                                        strlen(candidate), any);
    if (!name)
        cfx_out_fail(c->out, CFX_ENOMEM);
    return name ? name : "";
}

const char *cfx_coder__name(void *user, const cfx_node *n)
{
    cfx_coder *c = user;
    if (!c->name[n->id])
        c->name[n->id] = make_name(c, n->name, false);
    return c->name[n->id];
}

/* Is it a function or type of torch, which keeps its dotted name? Methods of
 * Tensor and what belongs to the compiler do not. */
static bool is_of_torch(const char *qualified)
{
    const char *dot = strrchr(qualified, '.');
    if (!dot || !cfx_starts(qualified, "torch.") ||
        !cfx_name_is_path(qualified) || !strcmp(qualified, "torch.device"))
        return false;
    if (cfx_starts(qualified, "torch.Tensor.") && dot == qualified + 12)
        return false;
    return !strstr(qualified, "._dynamo.") &&
           !strstr(qualified, "._inductor.");
}

/* The name of a function or type, by its qualified name. */
static const char *global_name(cfx_coder *c, const char *qualified,
                               bool builtin)
{
    if (is_of_torch(qualified))
        return qualified;
    size_t len = strlen(qualified);
    cfx_map_entry *e = cfx_map_get(&c->globals, qualified, len);
    if (e)
        return e->v.p;
    const char *name = make_name(c, qualified, builtin);
    char *key = cfx_arena_strdup(&c->names.memory, qualified, len);
    e = key ? cfx_map_put(&c->globals, key, len, NULL) : NULL;
    if (!e) {
        cfx_out_fail(c->out, CFX_ENOMEM);
        return "";
    }
    e->v.p = (void *)name;
    return name;
}

void cfx_coder__add_globals(cfx_coder *c)
{
    static const char *const standard[] = {
        "inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"};
    for (size_t i = 0; i < sizeof(standard) / sizeof(standard[0]); i++)
        global_name(c, standard[i], true);
}

static const char *function_name(cfx_coder *c, const char *qualified,
                                 bool builtin)
{
    const char *name = global_name(c, qualified, builtin);
    if (c->how->function && !is_of_torch(qualified))
        cfx_out_fail(c->out,
                     c->how->function(c->how->function_user, name, qualified));
    return name;
}

const char *cfx_coder__function(cfx_coder *c, const char *target)
{
    char buf[256];
    if (cfx_starts(target, "builtins."))
        return function_name(c, target + 9, true);
    if (!strcmp(target, "torch.device"))
        return global_name(c, "device", true);
    if (cfx_starts(target, "operator.") && strlen(target) < sizeof(buf) - 1) {
        buf[0] = '_';
        strcpy(buf + 1, target);
        return function_name(c, buf, false);
    }
    return function_name(c, target, false);
}

/* ---- Types ---- */

static bool is_name_char(char ch)
{
    return ch == '.' || cfx_name_has(ch);
}

/* Is it a type, of names, lists in brackets, alternatives, and what Literal
 * and Tuple have in brackets: strings, numbers, `()`? */
static bool is_type(const char *s)
{
    int depth = 0;
    for (const char *t = s; *t; t++) {
        if (*t == '\'' || *t == '"') {
            const char *close = strchr(t + 1, *t);
            if (!close || memchr(t, '\\', (size_t)(close - t)))
                return false;
            t = close;
        } else if (*t == '[' || *t == ']') {
            depth += *t == '[' ? 1 : -1;
            if (depth < 0)
                return false;
        } else if (*t == '(') {
            if (t == s || t[-1] != '[' || *++t != ')')
                return false;
        } else if (*t == ',' ? !depth
                             : !is_name_char(*t) && !strchr(" |-", *t)) {
            return false;
        }
    }
    return !depth;
}

/* A bare typing.List means list. */
static const char *plain_generic(const char *s, size_t len)
{
    static const char *const plain[][2] = {
        {"typing.Dict", "dict"},   {"typing.FrozenSet", "frozenset"},
        {"typing.List", "list"},   {"typing.Set", "set"},
        {"typing.Tuple", "tuple"}, {"typing.Type", "type"}};
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        if (strlen(plain[i][0]) == len && !memcmp(plain[i][0], s, len) &&
            s[len] != '[')
            return plain[i][1];
    return NULL;
}

static void put_type_name(cfx_coder *c, const char *s, size_t len)
{
    char name[256];
    const char *plain = plain_generic(s, len);
    if (*s >= '0' && *s <= '9') {
        cfx_out_add(c->out, s, len);
        return;
    }
    if (plain) {
        cfx_out_puts(c->out, global_name(c, plain, true));
        return;
    }
    if (len >= sizeof(name)) {
        cfx_out_add(c->out, s, len);
        return;
    }
    memcpy(name, s, len);
    name[len] = '\0';
    if (!strcmp(name, "None"))
        strcpy(name, "NoneType");
    cfx_out_puts(c->out, global_name(c, name, cfx_name_is_illegal(name)));
}

void cfx_coder__type(cfx_coder *c, const char *t)
{
    uint64_t optional = 0; /* bit d: bracket d closes an Optional */
    int depth = 0;
    if (!is_type(t)) {
        cfx_print__quoted(c->out, t, strlen(t));
        return;
    }
    while (*t) {
        size_t n = 0;
        while (is_name_char(t[n]))
            n++;
        if (n == 15 && cfx_starts(t, "typing.Optional[") && depth < 63) {
            put_type_name(c, "typing.Union", 12);
            optional |= UINT64_C(1) << (depth + 1);
        } else if (n) {
            put_type_name(c, t, n);
        }
        t += n;
        if (n || !*t)
            continue;
        if (*t == '\'' || *t == '"') {
            n = (size_t)(strchr(t + 1, *t) + 1 - t);
            cfx_out_add(c->out, t, n);
            t += n;
            continue;
        }
        depth += *t == '[';
        if (*t == ']' && depth < 64 && optional >> depth & 1) {
            cfx_out_puts(c->out, ",NoneType");
            optional &= ~(UINT64_C(1) << depth);
        }
        depth -= *t == ']' && depth > 0;
        if (*t != ' ')
            cfx_out_putc(c->out, *t);
        t++;
    }
}
