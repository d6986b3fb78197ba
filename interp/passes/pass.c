/*
 * pass -- the registry of passes; applying a pass.
 */
#include <cfx/pass.h>

#include <stdio.h>
#include <string.h>

#include "base/context_impl.h"
#include "base/mutex.h"
#include "base/util.h"
#include "interp/passes/pass_impl.h"
#include "interp/rewrite/facts.h"

#include <cfx/nearest.h>

#define PASS(name) extern const cfx_pass cfx_pass__##name;
#include "interp/passes/passes.def"
#undef PASS

static const cfx_pass *const builtin[] = {
#define PASS(name) &cfx_pass__##name,
#include "interp/passes/passes.def"
#undef PASS
};

enum { NBUILTIN = sizeof(builtin) / sizeof(*builtin) };

/* Passes that programs registered; the built-in ones come before them. */
typedef struct registry {
    cfx_mutex lock;
    const cfx_pass **pass;
    size_t n, cap;
} registry;

static void registry_free(cfx_context *ctx, void *p)
{
    registry *r = p;
    cfx_free(ctx, r->pass, r->cap * sizeof(*r->pass));
    cfx_mutex_destroy(&r->lock);
    cfx_free(ctx, r, sizeof(*r));
}

static void *registry_make(cfx_context *ctx)
{
    registry *r = cfx_calloc(ctx, 1, sizeof(*r));
    if (r)
        cfx_mutex_init(&r->lock);
    return r;
}

static registry *registry_of(cfx_context *ctx)
{
    static const cfx_slot slot = {registry_make, registry_free};
    return cfx_context_slot(ctx, &slot);
}

static bool is_named(const cfx_pass *p, const char *name)
{
    size_t n = strcspn(p->schema, "(");
    return strlen(name) == n && !memcmp(p->schema, name, n);
}

static const cfx_pass *find_user(registry *r, const char *name)
{
    const cfx_pass *found = NULL;
    cfx_mutex_lock(&r->lock);
    for (size_t i = r->n; i-- > 0 && !found;)
        if (is_named(r->pass[i], name))
            found = r->pass[i];
    cfx_mutex_unlock(&r->lock);
    return found;
}

const cfx_pass *cfx_find_pass(cfx_context *ctx, const char *name)
{
    registry *r = registry_of(ctx);
    const cfx_pass *found = r ? find_user(r, name) : NULL;
    for (size_t i = 0; i < NBUILTIN && !found; i++)
        if (is_named(builtin[i], name))
            found = builtin[i];
    return found;
}

const cfx_pass *cfx_pass_at(cfx_context *ctx, size_t i)
{
    if (i < NBUILTIN)
        return builtin[i];
    registry *r = registry_of(ctx);
    if (!r)
        return NULL;
    cfx_mutex_lock(&r->lock);
    const cfx_pass *p = i - NBUILTIN < r->n ? r->pass[i - NBUILTIN] : NULL;
    cfx_mutex_unlock(&r->lock);
    return p;
}

static cfx_status add(cfx_context *ctx, registry *r, const cfx_pass *pass,
                      cfx_error *err)
{
    if (cfx_grow(ctx, r->pass, r->cap, r->n + 1, err))
        return CFX_ENOMEM;
    r->pass[r->n++] = pass;
    return CFX_OK;
}

cfx_status cfx_register_pass(cfx_context *ctx, const cfx_pass *pass,
                             cfx_error *err)
{
    const cfx_schema *schema;
    cfx_status st = cfx_check_abi(&pass->abi, sizeof(*pass), "cfx_pass", err);
    if (st)
        return st;
    if (!pass->schema || (!pass->run && !pass->rules))
        return cfx_fail(err, CFX_EINVAL,
                        "a pass needs a schema, and run or rules");
    st = cfx_schema_parse(&schema, ctx, pass->schema, err);
    if (st)
        return st;
    registry *r = registry_of(ctx);
    if (!r)
        return cfx_no_memory(err);
    cfx_mutex_lock(&r->lock);
    st = add(ctx, r, pass, err);
    cfx_mutex_unlock(&r->lock);
    return st;
}

const cfx_schema *cfx_pass_schema(cfx_context *ctx, const cfx_pass *pass)
{
    const cfx_schema *schema = NULL;
    return cfx_schema_parse(&schema, ctx, pass->schema, NULL) ? NULL : schema;
}

cfx_status cfx_pass__begin(cfx_pass_call *p, cfx_module *gm, cfx_error *own,
                           cfx_error *err)
{
    *p = (cfx_pass_call){
        .ctx = cfx_module_context(gm),
        .gm = gm,
        .graph = cfx_graph_module_graph(gm),
        .err = err ? err : own,
    };
    return p->graph ? CFX_OK
                    : cfx_fail(err, CFX_EINVAL, "a %s has no graph",
                               cfx_module_class_name(gm));
}

bool cfx_pass__lists(cfx_value list, const char *word)
{
    for (uint32_t i = 0; i < list.u.seq->len; i++)
        if (!strcmp(list.u.seq->item[i].u.str->text, word))
            return true;
    return false;
}

bool cfx_pass__lists_node(void *user, const cfx_node *n)
{
    const cfx_value *list = user;
    return cfx_pass__lists(*list, n->name) ||
           cfx_pass__lists(*list, n->target->text);
}

static cfx_status unknown_pass(cfx_context *ctx, const char *name, size_t len,
                               cfx_error *err)
{
    cfx_nearest near;
    cfx_nearest_init(&near, name, len);
    for (size_t i = 0; cfx_pass_at(ctx, i); i++) {
        const char *known = cfx_pass_at(ctx, i)->schema;
        cfx_nearest_try(&near, known, strcspn(known, "("));
    }
    return cfx_fail(err, CFX_ENAME, "there is no pass '%.*s'%s",
                    len < 256 ? (int)len : 256, name, cfx_nearest_text(&near));
}

cfx_status cfx_pass__find(const cfx_pass **out, cfx_context *ctx,
                          const char *name, size_t len, cfx_error *err)
{
    char buf[128];
    *out = NULL;
    if (len < sizeof(buf)) {
        memcpy(buf, name, len);
        buf[len] = '\0';
        *out = cfx_find_pass(ctx, buf);
    }
    return *out ? CFX_OK : unknown_pass(ctx, name, len, err);
}

/* ---- Applying ---- */

static cfx_status run_bound(const cfx_pass *pass, const cfx_schema *schema,
                            cfx_module *gm, const cfx_value *in, bool reverse,
                            size_t *changed, cfx_missed_list *missed,
                            cfx_error *err)
{
    cfx_error own = {0};
    cfx_pass_call call;
    cfx_status st = cfx_pass__begin(&call, gm, &own, err);
    if (st)
        return st;
    call.in = in;
    call.reverse = reverse;
    call.missed = missed;
    if (reverse && !(pass->flags & CFX_PASS_REVERSIBLE))
        return cfx_fail(err, CFX_EINVAL, "the pass '%s' is not reversible",
                        schema->name);
    cfx_graph *before = call.graph;
    cfx_insert_point at = cfx_graph_inserting_after(before, NULL);
    cfx_missed__begin(missed, schema->name);
    st = pass->rules ? cfx_rules__apply(&call, pass->rules) : pass->run(&call);
    if (st)
        cfx_fail(call.err, st, "the pass '%s' returned %s without a message",
                 schema->name, cfx_status_name(st));
    cfx_status found = cfx_facts__forget(&call);
    st = st ? st : found;
    if (!st)
        st = cfx_missed__end(missed, call.err);
    if (cfx_graph_module_graph(gm) == before)
        cfx_graph_restore(before, at);
    if (changed)
        *changed = call.changed;
    return st;
}

cfx_status cfx_missed__run_pass(const cfx_pass *pass, cfx_module *gm,
                                cfx_args a, bool reverse, size_t *changed,
                                cfx_missed_list *missed, cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    const cfx_schema *schema;
    cfx_bound b = {0};
    if (changed)
        *changed = 0;
    cfx_error_clear(err);
    cfx_status st = cfx_schema_parse(&schema, ctx, pass->schema, err);
    if (!st)
        st = cfx_bind_schema(&b, ctx, schema, a, err);
    if (!st)
        st = run_bound(pass, schema, gm, b.in, reverse, changed, missed, err);
    cfx_bound_release(&b);
    return st;
}

cfx_status cfx_pass_run(const cfx_pass *pass, cfx_module *gm, cfx_args a,
                        bool reverse, size_t *changed, cfx_error *err)
{
    return cfx_missed__run_pass(pass, gm, a, reverse, changed, NULL, err);
}
