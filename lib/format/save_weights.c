/*
 * save_weights -- the numbers of a model, as a .safetensors file.
 */
#include "format/print.h"
#include "format/io.h"

typedef struct weights {
    cfx_named_tensor *item;
    size_t n;
    cfx_arena names;
} weights;

static bool has_numbers(const cfx_state *s)
{
    return s->tensor && !cfx_tensor_is_meta(s->tensor);
}

static cfx_status count_tensor(void *user, const char *name, cfx_tensor *t)
{
    size_t *n = user;
    (void)name;
    *n += !cfx_tensor_is_meta(t);
    return CFX_OK;
}

cfx_status cfx_model__count_weights(size_t *n, const cfx_module *gm,
                                    cfx_error *err)
{
    *n = 0;
    for (const cfx_module *m = gm; m; m = cfx_module_next(m, gm))
        for (size_t i = 0; i < cfx_module_nstate(m); i++)
            *n += has_numbers(cfx_module_state_at(m, i));
    return cfx_model_visit_tensors(gm, count_tensor, n, err);
}

/* "layer1.0.weight", from gm. */
static char *full_name(cfx_arena *memory, const cfx_module *gm,
                       const cfx_module *m, const char *name)
{
    size_t n = cfx_module_path(m, NULL, 0), len = strlen(name) + 1;
    size_t above = cfx_module_path(gm, NULL, 0);
    char *full = cfx_arena_alloc(memory, n + 1 + len);
    if (!full)
        return NULL;
    cfx_module_path(m, full, n + 1);
    if (n)
        full[n++] = '.';
    memcpy(full + n, name, len);
    return full + above + (above > 0);
}

static cfx_status add_tensor(void *user, const char *name, cfx_tensor *t)
{
    weights *w = user;
    if (cfx_tensor_is_meta(t))
        return CFX_OK;
    char *copy = cfx_arena_strdup(&w->names, name, strlen(name));
    if (!copy)
        return CFX_ENOMEM;
    w->item[w->n++] = (cfx_named_tensor){copy, t};
    return CFX_OK;
}

static cfx_status collect(weights *w, const cfx_module *gm, cfx_error *err)
{
    for (const cfx_module *m = gm; m; m = cfx_module_next(m, gm)) {
        for (size_t i = 0; i < cfx_module_nstate(m); i++) {
            const cfx_state *s = cfx_module_state_at(m, i);
            if (!has_numbers(s))
                continue;
            char *name = full_name(&w->names, gm, m, s->name);
            if (!name)
                return cfx_no_memory(err);
            w->item[w->n++] = (cfx_named_tensor){name, s->tensor};
        }
    }
    return cfx_model_visit_tensors(gm, add_tensor, w, err);
}

cfx_status cfx_model__write_weights(const char *path, const cfx_module *gm,
                                    const cfx_pair *replaced, cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    weights w = {0};
    size_t n;
    cfx_status st = cfx_model__count_weights(&n, gm, err);
    if (st)
        return st;
    w.item = cfx_calloc(ctx, n + 1, sizeof(*w.item));
    if (!w.item)
        return cfx_no_memory(err);
    cfx_arena_init(&w.names, ctx);
    st = collect(&w, gm, err);
    if (!st)
        st = cfx_safetensors__write_pair(path, ctx, w.item, w.n, replaced,
                                         err);
    cfx_arena_release(&w.names);
    cfx_free(ctx, w.item, (n + 1) * sizeof(*w.item));
    return st;
}
