/*
 * compiled -- functions for generated C: values, module trees, entry points.
 */
#define CFX_NO_PLACES
#include <cfx/codegen.h>

#include <cfx/file.h>
#include <cfx/interp.h>

#include <stdlib.h>

#include "base/util.h"
#include "interp/trace/tracer_impl.h"
#include "nn/module_impl.h"
#include "op/scope_impl.h"

/* ---- Values ---- */

cfx_value cfx_str_of(cfx_scope *s, const char *text, size_t len)
{
    if (cfx_scope_failed(s))
        return cfx_none();
    cfx_value v = cfx_str_new(s->ctx, text, len);
    if (v.kind == CFX_ABSENT) {
        cfx_no_memory(&s->error);
        return cfx_none();
    }
    return cfx_scope_take(s, v);
}

/* Make a value of another kind that holds a string. */
static cfx_value word(cfx_scope *s, const char *text, cfx_kind kind)
{
    if (cfx_scope_failed(s))
        return cfx_none();
    cfx_value v = cfx_str_new(s->ctx, text, strlen(text));
    if (v.kind == CFX_ABSENT) {
        cfx_no_memory(&s->error);
        return cfx_none();
    }
    v.kind = (uint8_t)kind;
    return cfx_scope_take(s, v);
}

cfx_value cfx_device_of(cfx_scope *s, const char *name)
{
    return word(s, name, CFX_DEVICE);
}

cfx_value cfx_layout_of(cfx_scope *s, const char *name)
{
    return word(s, name, CFX_LAYOUT);
}

cfx_value cfx_bare_name(cfx_scope *s, const char *name)
{
    return word(s, name, CFX_NAME);
}

cfx_value cfx_complex_of(cfx_scope *s, double re, double im)
{
    cfx_value part[] = {cfx_float(re), cfx_float(im)};
    return cfx_list_of(s, CFX_COMPLEX, 2, part);
}

cfx_value cfx_slice_of(cfx_scope *s, cfx_value start, cfx_value stop,
                       cfx_value step)
{
    cfx_value part[] = {start, stop, step};
    return cfx_list_of(s, CFX_SLICE, 3, part);
}

cfx_value cfx_range_of(cfx_scope *s, int64_t start, int64_t stop, int64_t step)
{
    cfx_value part[] = {cfx_int(start), cfx_int(stop), cfx_int(step)};
    return cfx_list_of(s, CFX_RANGE, 3, part);
}

/* Call cfx_module__owner; an error fails the scope. */
static cfx_module *owner_of(cfx_scope *s, const cfx_module *m,
                            const char *path, const char **last)
{
    cfx_module *owner = cfx_module__owner(m, path, last);
    if (!owner)
        cfx_scope_fail(s, CFX_ENAME, "Node referenced nonexistent target %s",
                       path);
    return owner;
}

static bool is_tracer(const cfx_scope *s)
{
    return cfx_scope__is_a(s, &cfx_tracer_class);
}

cfx_value cfx_call_constant(cfx_scope *s, const char *target, cfx_args a)
{
    if (cfx_scope_failed(s))
        return cfx_none();
    if (is_tracer(s))
        return cfx_tracer_create((cfx_tracer *)s, CFX_CALL_FUNCTION, target,
                                 a);
    return cfx_call_function(s, target, a);
}

cfx_value cfx_call_get_attr(cfx_scope *s, cfx_module *self, const char *path)
{
    const char *last;
    if (cfx_scope_failed(s))
        return cfx_none();
    if (is_tracer(s))
        return cfx_tracer_create((cfx_tracer *)s, CFX_GET_ATTR, path,
                                 CFX_NO_ARGS);
    cfx_module *m = owner_of(s, self, path, &last);
    if (!m)
        return cfx_none();
    if (!cfx_module_state(m, last) && cfx_module_child(m, last))
        return (cfx_value){.kind = CFX_MODULE,
                           .u.module = cfx_module_child(m, last)};
    return cfx_param_of(s, m, last);
}

/* ---- Trees of modules ---- */

cfx_scope *cfx_build_begin(cfx_builder *b, cfx_context *ctx,
                           const char *class_name)
{
    *b = (cfx_builder){.root = NULL};
    cfx_scope_init(&b->scope, &cfx_eager_class, ctx, NULL);
    cfx_module_new_container(&b->root, ctx, class_name, &b->scope.error);
    return &b->scope;
}

static void add(cfx_builder *b, const char *path, cfx_module *m)
{
    cfx_error *err = &b->scope.error;
    if (!cfx_scope_failed(&b->scope) &&
        cfx_module_add_submodule_take(b->root, path, m, err))
        cfx_fail_at(err, "%s", path);
}

void cfx_build_as(cfx_builder *b, const char *class_name)
{
    b->as = class_name;
}

void cfx_build(cfx_builder *b, const char *path, const char *type, cfx_args a)
{
    cfx_scope *s = &b->scope;
    cfx_module *m = NULL;
    if (cfx_scope_failed(s))
        return;
    const cfx_module_type *t = cfx_find_module_type(s->ctx, type);
    if (!t) {
        cfx_scope_fail(s, CFX_ENAME, "%s: unknown module type '%s'", path,
                       type);
    } else if (cfx_module_new(&m, s->ctx, t, b->as ? b->as : type, a,
                              &s->error)) {
        cfx_fail_at(&s->error, "%s", path);
    } else {
        add(b, path, m);
    }
    b->as = NULL;
}

void cfx_build_undecide(cfx_builder *b, const char *path, const char *name)
{
    cfx_module *m = b->root ? cfx_module_at(b->root, path) : NULL;
    if (!m && b->root && !cfx_scope_failed(&b->scope))
        cfx_scope_fail(&b->scope, CFX_ENAME, "there is no module '%s'", path);
    if (m && !cfx_scope_failed(&b->scope))
        cfx_module_undecide(m, name, &b->scope.error);
}

void cfx_build_container(cfx_builder *b, const char *path,
                         const char *class_name)
{
    cfx_module *m = NULL;
    if (!cfx_scope_failed(&b->scope) &&
        !cfx_module_new_container(&m, b->scope.ctx, class_name,
                                  &b->scope.error))
        add(b, path, m);
}

void cfx_build_state(cfx_builder *b, const char *path, cfx_dtype dtype,
                     int rank, const int64_t *shape, bool is_buffer)
{
    cfx_scope *s = &b->scope;
    cfx_dim dim[CFX_MAX_RANK];
    const char *last;
    if (cfx_scope_failed(s))
        return;
    cfx_module *m = owner_of(s, b->root, path, &last);
    if (!m)
        return;
    for (int i = 0; i < rank && i < CFX_MAX_RANK; i++)
        dim[i] = cfx_dim_int(shape[i]);
    if (rank < 0)
        cfx_module_no_param(m, last, &s->error);
    else if (is_buffer)
        cfx_module_buffer(m, last, dtype, rank, dim, &s->error);
    else
        cfx_module_param(m, last, dtype, rank, dim, &s->error);
}

void cfx_build_train(cfx_builder *b, const char *path, bool training)
{
    cfx_module *m = b->root ? cfx_module_at(b->root, path) : NULL;
    if (m && !cfx_scope_failed(&b->scope))
        cfx_module_train(m, training);
}

void cfx_build_graph(cfx_builder *b, const char *path, const cfx_compiled *c)
{
    cfx_scope *s = &b->scope;
    cfx_module *m = b->root ? cfx_module_at(b->root, path) : NULL, *gm = NULL;
    cfx_graph *g = NULL;
    if (cfx_scope_failed(s))
        return;
    if (!m) {
        cfx_scope_fail(s, CFX_ENAME, "there is no module '%s'", path);
        return;
    }
    if (!cfx_compiled_trace(&gm, c, m, &s->error) &&
        !cfx_graph_copy(&g, cfx_graph_module_graph(gm), &s->error))
        cfx_graph_module_new_take_both(&m, s->ctx, m, g, c->name, &s->error);
    cfx_module_unref(gm);
}

cfx_status cfx_build_end(cfx_builder *b, cfx_module **out, cfx_error *err)
{
    cfx_status st = cfx_scope_status(&b->scope, err);
    *out = st ? NULL : b->root;
    if (st)
        cfx_module_unref(b->root);
    cfx_scope_release(&b->scope);
    return st;
}

/* ---- Entry points ---- */

static cfx_status missing(const cfx_compiled *c, size_t nin, cfx_error *err)
{
    return cfx_fail(err, CFX_EINVAL, "%s takes %zu inputs, not %zu", c->name,
                    c->nparams, nin);
}

cfx_status cfx_compiled_run(const cfx_compiled *c, cfx_module *m,
                            const cfx_value *in, size_t nin, cfx_value *out,
                            cfx_error *err)
{
    cfx_scope s;
    cfx_context *ctx = cfx_module_context(m);
    size_t n = c->nparams + 1;
    cfx_value *all = cfx_calloc(ctx, n, sizeof(*all));
    *out = cfx_none();
    if (!all)
        return cfx_no_memory(err);
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
    if (nin > c->nparams)
        missing(c, nin, &s.error);
    if (nin && nin <= c->nparams)
        memcpy(all, in, nin * sizeof(*all));
    cfx_value v = cfx_scope_failed(&s) ? cfx_none() : c->forward(&s, all, m);
    cfx_status st = cfx_scope_status(&s, err);
    if (!st)
        *out = cfx_value_ref(v);
    cfx_scope_release(&s);
    cfx_free(ctx, all, n * sizeof(*all));
    return st;
}

cfx_status cfx_compiled_trace(cfx_module **gm, const cfx_compiled *c,
                              cfx_module *m, cfx_error *err)
{
    cfx_trace_options how = {.size = sizeof(how),
                             .root = m,
                             .class_name = c->name,
                             .no_places = true,
                             .is_leaf = cfx_tracer__every_module};
    return cfx_trace_function_with(gm, cfx_module_context(m), c->forward, m,
                                   c->params, &how, err);
}

/* Find the name of parameter i in a list of words with optional defaults. */
static size_t param_name(const cfx_compiled *c, size_t i, const char **name)
{
    const char *p = c->params;
    while (i--) {
        p += strcspn(p, " ");
        p += *p == ' ';
    }
    p += strspn(p, "*");
    *name = p;
    return strcspn(p, " =");
}

static cfx_status fill(cfx_value *out, cfx_context *ctx, const char *text,
                       const char *name, uint64_t seed, cfx_error *err)
{
    char word[16];
    int64_t shape[CFX_MAX_RANK];
    cfx_dtype dtype;
    cfx_tensor *t;
    int rank = 0;
    const char *p = strchr(text, '[');
    size_t n = p ? (size_t)(p - text) : 0;
    if (!n || n >= sizeof(word))
        return cfx_fail(err, CFX_EPARSE,
                        "'%s' is neither a file nor a type with a shape",
                        text);
    memcpy(word, text, n);
    word[n] = '\0';
    if (!cfx_dtype_parse(&dtype, word))
        return cfx_fail(err, CFX_EPARSE, "there is no type '%s'", word);
    for (p++; *p && *p != ']' && rank < CFX_MAX_RANK; rank++) {
        char *end;
        shape[rank] = strtoll(p, &end, 10);
        if (end == p || shape[rank] < 0)
            break;
        p = end + (*end == ',');
        p += strspn(p, " ");
    }
    if (*p != ']' || p[1])
        return cfx_fail(err, CFX_EPARSE, "'%s' is not a shape", text);
    cfx_status st = cfx_tensor_new(&t, ctx, dtype, rank, shape, err);
    if (st)
        return st;
    st = cfx_tensor_randomize(t, seed, name, err);
    if (st)
        cfx_tensor_unref(t);
    else
        *out = cfx_value_of_tensor(t);
    return st;
}

cfx_status cfx_compiled_input(cfx_value *out, const cfx_compiled *c, size_t i,
                              cfx_context *ctx, const char *text,
                              uint64_t seed, cfx_error *err)
{
    const char *param;
    char name[128];
    cfx_tensor *t;
    *out = CFX_NOTHING;
    if (i >= c->nparams)
        return missing(c, i + 1, err);
    if (cfx_tensor_names_file(text)) {
        cfx_status st = cfx_tensor_read(&t, ctx, text, false, err);
        if (!st)
            *out = cfx_value_of_tensor(t);
        return st;
    }
    size_t n = param_name(c, i, &param);
    n = n < sizeof(name) ? n : sizeof(name) - 1;
    memcpy(name, param, n);
    name[n] = '\0';
    return fill(out, ctx, text, name, seed, err);
}
