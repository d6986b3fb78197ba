/*
 * rewrite_graphs -- the notation of rewrite_test.h.
 */
#include "tests/unit/rewrite/rewrite_test.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/text.h>

static cfx_error err;

/* Names that are nodes of the graph become these. */
static cfx_status to_node(void *user, cfx_value v, cfx_value *out)
{
    const cfx_graph *g = user;
    cfx_node *n = v.kind == CFX_NAME ? cfx_graph_find(g, v.u.str->text) : NULL;
    ck_assert_msg(v.kind != CFX_NAME || n, "no node %s",
                  v.kind == CFX_NAME ? v.u.str->text : "");
    *out = n ? cfx_value_of_node(n) : cfx_value_ref(v);
    return CFX_OK;
}

static cfx_value read_value(cfx_graph *g, const char *text, size_t len)
{
    cfx_value raw, v;
    cfx_context *ctx = cfx_graph_context(g);
    ck_assert_msg(!cfx_parse_value(&raw, ctx, text, len, &err), "%.*s: %s",
                  (int)len, text, err.text);
    ck_assert_int_eq(cfx_value_map(&v, ctx, raw, to_node, g, &err), CFX_OK);
    cfx_value_unref(raw);
    return v;
}

/* The end of an argument: a comma outside of brackets and quotes. */
static const char *argument_end(const char *s, const char *end)
{
    int depth = 0;
    for (char quote = 0; s < end; s++) {
        if (quote)
            quote = *s == quote ? 0 : quote;
        else if (*s == '\'')
            quote = *s;
        else if (strchr("([{", *s))
            depth++;
        else if (strchr(")]}", *s))
            depth--;
        else if (*s == ',' && !depth)
            break;
    }
    return s;
}

typedef struct arguments {
    cfx_value args[16], kwargs[32];
    size_t nargs, nkwargs;
} arguments;

static void read_arguments(cfx_graph *g, arguments *a, const char *s,
                           const char *end)
{
    while (s < end) {
        const char *stop = argument_end(s, end);
        s += strspn(s, " ");
        size_t word = strspn(s, "abcdefghijklmnopqrstuvwxyz_");
        if (word && s[word] == '=' && s[word + 1] != '=') {
            a->kwargs[2 * a->nkwargs] = cfx_str_new(cfx_graph_context(g), s,
                                                    word);
            a->kwargs[2 * a->nkwargs++ + 1] = read_value(
                g, s + word + 1, (size_t)(stop - s) - word - 1);
        } else if (s < stop) {
            a->args[a->nargs++] = read_value(g, s, (size_t)(stop - s));
        }
        s = stop + 1;
    }
}

static void release_arguments(arguments *a)
{
    for (size_t i = 0; i < a->nargs; i++)
        cfx_value_unref(a->args[i]);
    for (size_t i = 0; i < 2 * a->nkwargs; i++)
        cfx_value_unref(a->kwargs[i]);
}

static void read_call(cfx_graph *g, const char *name, const char *s)
{
    const char *open = strchr(s, '('), *end = s + strlen(s);
    char target[128] = "", self[64] = "";
    arguments a = {.nargs = 0};
    cfx_opcode op = CFX_CALL_FUNCTION;
    while (end > s && end[-1] != ')' && open)
        end--;
    size_t n = open ? (size_t)(open - s) : strcspn(s, " ");
    memcpy(target, s, n);
    memcpy(self, s, strcspn(s, "."));
    const char *rest = strchr(target, '.');
    const char *path = target;
    if (!strcmp(self, "self")) {
        op = open ? CFX_CALL_MODULE : CFX_GET_ATTR;
        path = rest + 1;
    } else if (cfx_graph_find(g, self)) {
        op = CFX_CALL_METHOD;
        path = rest + 1;
        a.args[a.nargs++] = cfx_value_of_node(cfx_graph_find(g, self));
    }
    if (open)
        read_arguments(g, &a, open + 1, end - 1);
    const cfx_args given = {a.args, a.nargs, a.kwargs, a.nkwargs};
    ck_assert_msg(
        cfx_graph_create_node(g, op, path, given, name, NULL, &err) != NULL,
        "%s: %s", s, err.text);
    release_arguments(&a);
}

static void read_step(cfx_graph *g, char *step, bool last)
{
    char *equal = strstr(step, " = ");
    if (last) {
        cfx_value v = read_value(g, step, strlen(step));
        ck_assert_ptr_nonnull(cfx_graph_output(g, v, &err));
        cfx_value_unref(v);
        return;
    }
    ck_assert_msg(equal != NULL, "%s", step);
    *equal = '\0';
    read_call(g, step, equal + 3);
}

void build_graph(cfx_graph *g, const char *text)
{
    char *copy = strdup(text), *s = copy;
    err = (cfx_error){0};
    for (bool first = true; s; first = false) {
        char *bar = strstr(s, " | ");
        if (bar)
            *bar = '\0';
        if (!first)
            read_step(g, s, !bar);
        for (char *p = first ? strtok(s, " ") : NULL; p; p = strtok(NULL, " "))
            ck_assert_ptr_nonnull(cfx_graph_placeholder(g, p, &err));
        s = bar ? bar + 3 : NULL;
    }
    free(copy);
}

cfx_graph *new_graph(cfx_context *ctx, const char *text)
{
    cfx_graph *g;
    ck_assert_int_eq(cfx_graph_new(&g, ctx, &err), CFX_OK);
    build_graph(g, text);
    return g;
}

cfx_module *new_module(cfx_context *ctx, cfx_module *root, const char *text)
{
    cfx_module *gm;
    cfx_graph *g = new_graph(ctx, text);
    ck_assert_msg(
        !cfx_graph_module_new_take_both(&gm, ctx, root, g, "Net", &err), "%s",
        err.text);
    return gm;
}

typedef struct text {
    char *s;
    size_t len;
} text;

static cfx_status add_text(void *user, const char *s, size_t len)
{
    text *t = user;
    t->s = realloc(t->s, t->len + len + 1);
    memcpy(t->s + t->len, s, len);
    t->s[t->len += len] = '\0';
    return CFX_OK;
}

char *graph_text(const cfx_graph *g)
{
    text t = {NULL, 0};
    ck_assert_int_eq(cfx_print_graph((cfx_sink){add_text, &t}, g, false, &err),
                     CFX_OK);
    return t.s;
}
