/*
 * pattern -- trace patterns from functions.
 */
#include <cfx/pattern.h>

#include <string.h>

/* Patterns can only be recorded in a tracing scope. */
static cfx_value record(cfx_scope *s, const char *target,
                        const cfx_value *args, size_t nargs)
{
    if (!s->hook.record_call)
        return cfx_scope_fail(s, CFX_EUNSUPPORTED,
                              "%s is only allowed in patterns", target);
    return cfx_tracer_create((cfx_tracer *)s, CFX_CALL_FUNCTION, target,
                             cfx_args_of(args, nargs));
}

cfx_value cfx_pattern_any(cfx_scope *s)
{
    return record(s, "cfx.any", NULL, 0);
}

cfx_value cfx_pattern_one_of_n(cfx_scope *s, size_t n, const cfx_value *v)
{
    return record(s, "cfx.one_of", v, n);
}

cfx_value cfx_pattern_optional(cfx_scope *s, cfx_value v, cfx_value without)
{
    cfx_value args[] = {v, without};
    return record(s, "cfx.optional", args,
                  cfx_value_is_absent(without) ? 1 : 2);
}

cfx_value cfx_pattern_where(cfx_scope *s, cfx_value v, const char *predicate)
{
    cfx_value args[] = {v, cfx_str(s, predicate)};
    return record(s, "cfx.where", args, 2);
}

/* Record a special node whose first argument is a str. */
static cfx_value record_named(cfx_scope *s, const char *target,
                              const char *name, const cfx_value *args,
                              size_t nargs)
{
    size_t size = (nargs + 1) * sizeof(cfx_value);
    cfx_value *all = cfx_alloc(s->ctx, size);
    if (!all) {
        cfx_no_memory(&s->error);
        return cfx_none();
    }
    all[0] = cfx_str(s, name);
    if (nargs)
        memcpy(all + 1, args, nargs * sizeof(*args));
    cfx_value v = record(s, target, all, nargs + 1);
    cfx_free(s->ctx, all, size);
    return v;
}

cfx_value cfx_pattern_module(cfx_scope *s, const char *type,
                             const cfx_value *args, size_t nargs)
{
    return record_named(s, "cfx.module", type, args, nargs);
}

cfx_value cfx_pattern_call(cfx_scope *s, const char *predicate,
                           const cfx_value *args, size_t nargs)
{
    return record_named(s, "cfx.call", predicate, args, nargs);
}

cfx_value cfx_pattern_number(cfx_scope *s, double c, double rtol)
{
    cfx_value args[] = {cfx_float(c), cfx_float(rtol)};
    return record(s, "cfx.number", args, 2);
}

/* Nodes have no stack_trace: that of the pattern would replace the model's. */
static cfx_status trace(cfx_module **gm, cfx_context *ctx, cfx_trace_fn *fn,
                        void *user, const char *params, cfx_error *err)
{
    const cfx_trace_options o = {.size = sizeof(o), .no_places = true};
    return cfx_trace_function_with(gm, ctx, fn, user, params, &o, err);
}

cfx_status cfx_replace_function(cfx_module *gm, cfx_trace_fn *pattern,
                                cfx_trace_fn *replacement, void *user,
                                const char *params,
                                const cfx_rewrite_options *options,
                                cfx_matches *replaced, cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    cfx_module *what = NULL, *with = NULL;
    if (replaced)
        *replaced = CFX_ZERO(cfx_matches);
    cfx_status st = trace(&what, ctx, pattern, user, params, err);
    if (!st && replacement)
        st = trace(&with, ctx, replacement, user, params, err);
    if (!st)
        st = cfx_replace_pattern(gm, cfx_graph_module_graph(what),
                                 with ? cfx_graph_module_graph(with) : NULL,
                                 options, replaced, err);
    /* The matches refer to the pattern's nodes. */
    if (!st && replaced)
        replaced->pattern = cfx_module_ref(what);
    else if (replaced)
        cfx_matches_release(replaced);
    cfx_module_unref(with);
    cfx_module_unref(what);
    return st;
}
