/*
 * nn_registry -- module types by the names they print as.
 */
#include "base/context_impl.h"
#include "base/mutex.h"
#include "nn/module_impl.h"

extern const cfx_module_type *const cfx_modules__builtin[];

const cfx_module_type cfx_module__Module = {
    .schema = "Module()",
    .repr = "",
    .doc = "A container of other modules.",
    .container = true,
};

typedef struct registry {
    cfx_context *ctx;
    cfx_mutex lock;
    cfx_map names;
    const cfx_module_type **types;
    size_t n, cap;
} registry;

static cfx_status add_name(registry *r, const char *name, size_t len,
                           const cfx_module_type *type, cfx_error *err)
{
    cfx_map_entry *e = cfx_map_put(&r->names, name, len, NULL);
    if (!e)
        return cfx_no_memory(err);
    e->v.p = (void *)type;
    return CFX_OK;
}

static cfx_status add_type(registry *r, const cfx_module_type *type,
                           cfx_error *err)
{
    if (cfx_grow(r->ctx, r->types, r->cap, r->n + 1, err))
        return CFX_ENOMEM;
    r->types[r->n++] = type;
    cfx_status st = add_name(r, type->schema, strcspn(type->schema, "("), type,
                             err);
    for (const char *p = type->aliases; !st && p && *p;) {
        size_t n = strcspn(p, " ");
        st = n ? add_name(r, p, n, type, err) : CFX_OK;
        p += n + strspn(p + n, " ");
    }
    return st;
}

static void registry_free(cfx_context *ctx, void *p)
{
    registry *r = p;
    if (!r)
        return;
    cfx_map_release(&r->names);
    cfx_free(ctx, r->types, r->cap * sizeof(*r->types));
    cfx_mutex_destroy(&r->lock);
    cfx_free(ctx, r, sizeof(*r));
}

static void *registry_make(cfx_context *ctx)
{
    registry *r = cfx_calloc(ctx, 1, sizeof(*r));
    if (!r)
        return NULL;
    r->ctx = ctx;
    if (!cfx_mutex_init(&r->lock)) {
        cfx_free(ctx, r, sizeof(*r));
        return NULL;
    }
    cfx_map_init(&r->names, ctx);
    for (size_t i = 0; cfx_modules__builtin[i]; i++)
        if (add_type(r, cfx_modules__builtin[i], NULL)) {
            registry_free(ctx, r);
            return NULL;
        }
    return r;
}

static registry *registry_of(cfx_context *ctx)
{
    static const cfx_slot slot = {registry_make, registry_free};
    return cfx_context_slot(ctx, &slot);
}

bool cfx_module_type__is_builtin(const cfx_module_type *type)
{
    size_t i = 0;
    while (cfx_modules__builtin[i] && cfx_modules__builtin[i] != type)
        i++;
    return cfx_modules__builtin[i];
}

cfx_status cfx_module_type__find(const cfx_module_type **out, cfx_context *ctx,
                                 const char *name, cfx_error *err)
{
    registry *r = registry_of(ctx);
    *out = NULL;
    if (!r)
        return cfx_no_memory(err);
    cfx_mutex_lock(&r->lock);
    cfx_map_entry *e = cfx_map_get(&r->names, name, strlen(name));
    *out = e ? e->v.p : NULL;
    cfx_mutex_unlock(&r->lock);
    return *out ? CFX_OK
                : cfx_fail(err, CFX_ENAME, "the module type %s is unknown",
                           name);
}

const cfx_module_type *cfx_find_module_type(cfx_context *ctx, const char *name)
{
    const cfx_module_type *type;
    cfx_module_type__find(&type, ctx, name, NULL);
    return type;
}

cfx_status cfx_register_module_type(cfx_context *ctx,
                                    const cfx_module_type *type,
                                    cfx_error *err)
{
    const cfx_schema *constructor, *forward;
    registry *r = registry_of(ctx);
    if (!r)
        return cfx_no_memory(err);
    cfx_status st = cfx_check_abi(&type->abi, sizeof(*type), "cfx_module_type",
                                  err);
    if (!st)
        st = cfx_module_type__schemas(ctx, type, &constructor, &forward, err);
    if (st)
        return st;
    cfx_mutex_lock(&r->lock);
    st = add_type(r, type, err);
    cfx_mutex_unlock(&r->lock);
    return st;
}

const cfx_module_type *cfx_module_type_at(cfx_context *ctx, size_t i)
{
    registry *r = registry_of(ctx);
    return r && i < r->n ? r->types[i] : NULL;
}

cfx_status cfx_module_type__schemas(cfx_context *ctx,
                                    const cfx_module_type *type,
                                    const cfx_schema **constructor,
                                    const cfx_schema **forward, cfx_error *err)
{
    *forward = NULL;
    cfx_status st = cfx_schema_parse(constructor, ctx, type->schema, err);
    if (!st && type->forward_schema)
        st = cfx_schema_parse(forward, ctx, type->forward_schema, err);
    return st;
}
