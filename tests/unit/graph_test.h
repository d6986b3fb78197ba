/*
 * graph_test.h -- what the tests of graphs share: a context whose allocator
 * can be told to fail, short ways to make nodes, and a check of everything
 * that a graph promises about itself.
 */
#ifndef CFX_GRAPH_TEST_H
#define CFX_GRAPH_TEST_H

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/graph.h>

#include "tests/unit/failing_alloc.h"
#include "graph/graph_impl.h"

static cfx_context *ctx;
static cfx_graph *g;
static cfx_error err;

/* ---- A context and a graph for each test ---- */

static size_t held_before;
static char last_message[256];

CFX_INLINE void keep_message(void *user, cfx_level level, const char *text)
{
    (void)user;
    (void)level;
    snprintf(last_message, sizeof(last_message), "%s", text);
}

CFX_INLINE void setup(void)
{
    cfx_options options = {
        .size = sizeof(options),
        .allocator = {test_alloc, test_free, NULL},
        .threads = 1,
        .message = keep_message,
    };
    allowed = -1;
    memset(&err, 0, sizeof(err));
    ck_assert_int_eq(cfx_context_new(&ctx, &options, &err), CFX_OK);
    held_before = cfx_context_memory(ctx);
    ck_assert_int_eq(cfx_graph_new(&g, ctx, &err), CFX_OK);
}

CFX_INLINE void teardown(void)
{
    cfx_graph_free(g);
    ck_assert_uint_eq(cfx_context_memory(ctx), held_before);
    cfx_context_free(ctx);
}

/* ---- Short ways to say things ---- */

CFX_INLINE cfx_value node(cfx_node *n)
{
    return cfx_value_of_node(n);
}

CFX_INLINE cfx_node *input(const char *name)
{
    cfx_node *n = cfx_graph_placeholder(g, name, &err);
    if (!n)
        ck_abort_msg("%s", err.text);
    return n;
}

/* A function of nodes, the list of which ends in NULL. */
CFX_INLINE cfx_node *call(const char *target, ...)
{
    cfx_value args[16];
    size_t n = 0;
    va_list list;
    va_start(list, target);
    for (cfx_node *x; (x = va_arg(list, cfx_node *)) != NULL;)
        args[n++] = node(x);
    va_end(list);
    cfx_node *made = cfx_graph_call_function(g, target, cfx_args_of(args, n),
                                             &err);
    if (!made)
        ck_abort_msg("%s", err.text);
    return made;
}

CFX_INLINE cfx_value str(const char *text)
{
    cfx_value v = cfx_str_new(ctx, text, strlen(text));
    if (v.kind != CFX_STR)
        ck_abort_msg("no memory");
    return v;
}

CFX_INLINE cfx_tensor *new_meta(void)
{
    cfx_tensor *t;
    cfx_dim shape[] = {cfx_dim_int(2), cfx_dim_int(3)};
    if (cfx_tensor_meta(&t, ctx, CFX_F32, 2, shape, NULL, &err))
        ck_abort_msg("%s", err.text);
    return t;
}

/* Names, in order, with a blank between. */
CFX_INLINE const char *names_in_order(const cfx_graph *of)
{
    static char text[4096];
    size_t len = 0;
    text[0] = '\0';
    for (cfx_node *n = cfx_graph_first(of); n; n = cfx_node_next(n))
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
                                len ? " " : "", n->name);
    return text;
}

CFX_INLINE const char *users_of(const cfx_node *n)
{
    static char text[4096];
    size_t len = 0;
    text[0] = '\0';
    for (const cfx_use *u = n->first_user; u; u = u->next)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
                                len ? " " : "", u->user->name);
    return text;
}

CFX_INLINE const char *inputs_of(const cfx_node *n)
{
    static char text[4096];
    size_t len = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < n->ninputs; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
                                len ? " " : "", cfx_node_input(n, i)->name);
    return text;
}

#define assert_nodes(text) ck_assert_str_eq(names_in_order(g), text)
#define assert_users(n, text) ck_assert_str_eq(users_of(n), text)
#define assert_inputs(n, text) ck_assert_str_eq(inputs_of(n), text)

/* The status of what just failed, and what its message begins with. */
CFX_INLINE void assert_failed(cfx_status code, const char *text)
{
    ck_assert_int_eq(err.code, code);
    ck_assert_msg(!strncmp(err.text, text, strlen(text)), "%s\nis not\n%s",
                  err.text, text);
    memset(&err, 0, sizeof(err));
}

#define assert_ok(status)                                                     \
    do {                                                                      \
        if (status)                                                           \
            ck_abort_msg("%s", err.text);                                     \
    } while (0)

/* ---- What a graph promises ---- */

/* ck_assert without its microsecond for claims that hold. */
#define must(claim)                                                           \
    do {                                                                      \
        if (!(claim))                                                         \
            ck_abort_msg("not so: %s", #claim);                               \
    } while (0)
#define must_eq(a, b) must((a) == (b))

typedef struct input_check {
    const cfx_node *n;
    uint32_t found;
} input_check;

/* Each node in the arguments is the next input, or was one before. */
CFX_INLINE cfx_status check_value(void *user, cfx_value v)
{
    input_check *c = user;
    must(v.kind != CFX_ABSENT);
    if (v.kind == CFX_STR)
        must_eq(v.u.str->refs, 0);
    if (v.kind != CFX_NODE)
        return CFX_OK;
    must_eq(v.u.node->graph, c->n->graph);
    must(!v.u.node->erased);
    for (uint32_t i = 0; i < c->found; i++)
        if (cfx_node_input(c->n, i) == v.u.node)
            return CFX_OK;
    must(c->found < c->n->ninputs);
    must_eq(cfx_node_input(c->n, c->found++), v.u.node);
    return CFX_OK;
}

CFX_INLINE size_t check_users(const cfx_node *n)
{
    uint32_t count = 0;
    const cfx_use *last = NULL;
    for (const cfx_use *u = n->first_user; u; last = u, u = u->next) {
        if (last)
            must_eq(u->prev, last);
        must_eq(u->input, n);
        must(!u->user->erased);
        must_eq(&u->user->inputs[u - u->user->inputs], u);
        must((size_t)(u - u->user->inputs) < u->user->ninputs);
        count++;
    }
    if (last)
        must_eq(n->first_user->prev, last);
    must_eq(n->nusers, count);
    return count;
}

/* The order of definitions is not checked: that is for lint. */
CFX_INLINE void check_graph(const cfx_graph *of)
{
    size_t len = 0, uses = 0, used = 0;
    const cfx_node *last = NULL;
    for (const cfx_node *n = cfx_graph_first(of); n; n = cfx_node_next(n)) {
        must_eq(n->graph, of);
        must(!n->erased);
        must_eq(cfx_node_prev(n), last);
        must(!last || cfx_node_before(last, n));
        must(n->id < cfx_graph_ids(of));
        must_eq(cfx_graph_find(of, n->name), n);
        input_check c = {n, 0};
        for (uint32_t i = 0; i < n->nargs; i++)
            cfx_value_visit(n->args[i], check_value, &c);
        for (uint32_t i = 0; i < 2 * n->nkwargs; i++)
            cfx_value_visit(n->kwargs[i], check_value, &c);
        must_eq(c.found, n->ninputs);
        uses += n->ninputs;
        used += check_users(n);
        last = n;
        len++;
    }
    must_eq(cfx_graph_last(of), last);
    must_eq(cfx_graph_len(of), len);
    must_eq(uses, used);
}

/* Call what a test consists of with the first allocation failing, then the
 * second, and so on, until it succeeds. */
CFX_INLINE void fail_each_allocation(bool (*work)(void))
{
    bool done = false;
    for (long n = 0; !done; n++) {
        ck_assert_int_lt(n, 100000);
        memset(&err, 0, sizeof(err));
        allowed = n;
        done = work();
        allowed = -1;
        ck_assert(done || err.code == CFX_ENOMEM);
    }
    memset(&err, 0, sizeof(err));
}

#endif
