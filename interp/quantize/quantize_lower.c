/*
 * quantize_lower -- a graph of functions over parameters of the root.
 *
 * Patterns of a quantizer then see one form of a layer, and a weight that is
 * replaced leaves no float copy in a module.
 */
#include <string.h>

#include <cfx/interp.h>

#include "base/util.h"
#include "interp/quantize/quantize_impl.h"
#include "graph/graph_impl.h"
#include "nn/module_impl.h"
#include "tensor/storage.h"

/* ---- Parameters ---- */

cfx_tensor *cfx_quantize__parameter(const cfx_module *gm, const cfx_node *n)
{
    cfx_value v;
    if (n->op != CFX_GET_ATTR ||
        cfx_module_fetch_attr(&v, gm, n->target->text, NULL))
        return NULL;
    return v.kind == CFX_TENSOR ? v.u.tensor : NULL;
}

/* The state at a dotted path. */
static const cfx_state *state_at(const cfx_module *gm, const char *path)
{
    const char *last;
    const cfx_module *owner = cfx_module__owner(gm, path, &last);
    return owner ? cfx_module_state(owner, last) : NULL;
}

/* A name for the parameter in the root: the path with `_` for dots, which is
 * free, or has that tensor already. */
static cfx_status name_parameter(cfx_buf *name, const cfx_module *gm,
                                 const char *path, const cfx_tensor *t,
                                 cfx_error *err)
{
    for (int64_t i = 0;; i++) {
        cfx_buf_clear(name);
        for (const char *p = path; *p; p++)
            cfx_buf_putc(name, *p == '.' ? '_' : *p);
        if (i) {
            cfx_buf_putc(name, '_');
            cfx_buf_int(name, i);
        }
        if (name->failed)
            return cfx_no_memory(err);
        const cfx_state *s = cfx_module_state(gm, cfx_buf_str(name));
        if (s ? s->tensor == t : !cfx_module_child(gm, cfx_buf_str(name)))
            return CFX_OK;
    }
}

static cfx_status lift(cfx_module *gm, cfx_node *n, cfx_buf *name,
                       cfx_error *err)
{
    const cfx_state *s = state_at(gm, n->target->text);
    if (!s || !s->tensor || !strchr(n->target->text, '.'))
        return CFX_OK;
    cfx_status st = name_parameter(name, gm, n->target->text, s->tensor, err);
    const cfx_state copy = {cfx_buf_str(name), s->tensor, s->is_buffer, true};
    if (!st)
        st = cfx_module__add_state(gm, &copy, err);
    return st ? st : cfx_node_set_target(n, cfx_buf_str(name), err);
}

static cfx_status lift_all(cfx_module *gm, cfx_error *err)
{
    cfx_status st = CFX_OK;
    cfx_buf name;
    cfx_buf_init(&name, cfx_module_context(gm));
    for (cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm)); n && !st;
         n = cfx_node_next(n))
        if (n->op == CFX_GET_ATTR)
            st = lift(gm, n, &name, err);
    cfx_buf_release(&name);
    if (!st)
        cfx_graph_module_delete_all_unused_submodules(gm);
    return st;
}

/* ---- Shapes ---- */

static cfx_status to_meta(void *user, cfx_value v, cfx_value *out)
{
    cfx_module *gm = user;
    cfx_tensor *t;
    *out = v;
    if (v.kind != CFX_TENSOR) {
        cfx_value_ref(v);
        return CFX_OK;
    }
    cfx_status st = cfx_tensor__meta_like(&t, cfx_module_context(gm),
                                          v.u.tensor, NULL);
    *out = st ? CFX_NOTHING : cfx_value_of_tensor(t);
    return st;
}

/* Store the meta of each tensor up to the first that depends on data. */
static cfx_status run_metas(cfx_module *gm, const bool *told, cfx_scope *s,
                            const cfx_value *inputs, size_t n)
{
    const cfx_interp_options o = {.size = sizeof(o), .scope = s};
    cfx_graph *g = cfx_graph_module_graph(gm);
    cfx_interp it = {0};
    const cfx_node *ran = NULL;
    cfx_value v, result = CFX_NOTHING;
    cfx_status st = cfx_interp_init_with(&it, &cfx_interp_base, gm, &o, NULL);
    if (st)
        return st;
    st = cfx_interp_begin(&it, inputs, n, NULL);
    for (cfx_node *at = cfx_graph_first(g); at && !st;
         at = cfx_node_next(at)) {
        st = cfx_interp_step(&it, &ran, &v, NULL);
        if (!st && ran == at && v.kind == CFX_TENSOR && !told[at->id])
            st = cfx_node_set_meta(at, "tensor_meta", v, NULL);
    }
    cfx_interp_end(&it, &result);
    cfx_value_unref(result);
    cfx_interp_release(&it);
    return st;
}

/* Note the shapes for these inputs at the nodes that do not tell theirs. */
static cfx_status note_shapes(cfx_module *gm, const bool *told,
                              const cfx_value *inputs, size_t n,
                              cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    cfx_value given = cfx_tuple_new(ctx, n, inputs), metas = CFX_NOTHING;
    cfx_scope s;
    cfx_status st = given.kind
                        ? cfx_value_map(&metas, ctx, given, to_meta, gm, err)
                        : CFX_ENOMEM;
    cfx_value_unref(given);
    if (!st) {
        cfx_scope_init(&s, &cfx_meta_class, ctx, NULL);
        st = run_metas(gm, told, &s, metas.u.seq->item, n);
        cfx_scope_release(&s);
    }
    cfx_value_unref(metas);
    return st == CFX_ENOMEM ? cfx_no_memory(err) : CFX_OK;
}

/* Forget them, and those of nodes that were made since there were `ids`. */
static cfx_status forget_shapes(cfx_module *gm, const bool *told, uint32_t ids,
                                cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (cfx_node *n = cfx_graph_first(cfx_graph_module_graph(gm)); n && !st;
         n = cfx_node_next(n))
        if (n->id >= ids || !told[n->id])
            st = cfx_node__forget_known(n, err);
    return st;
}

/* Edit the graph while its nodes have the types for these inputs. The other passes must
 * not see the shapes: they would become numbers in the graph. */
static cfx_status with_shapes(
    cfx_module *gm, const cfx_value *inputs, size_t n,
    cfx_status (*edit)(cfx_module *gm, cfx_error *err), cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    cfx_graph *g = cfx_graph_module_graph(gm);
    uint32_t ids = cfx_graph_ids(g);
    bool all = true, *told = cfx_calloc(ctx, ids + 1, sizeof(*told));
    if (!told)
        return cfx_no_memory(err);
    for (const cfx_node *at = cfx_graph_first(g); at; at = cfx_node_next(at)) {
        told[at->id] = cfx_node__known(at).kind != CFX_ABSENT;
        all = all && told[at->id];
    }
    bool notes = n && !all;
    cfx_status st = notes ? note_shapes(gm, told, inputs, n, err) : CFX_OK;
    if (!st)
        st = edit(gm, err);
    if (!st && notes)
        st = forget_shapes(gm, told, ids, err);
    cfx_free(ctx, told, (ids + 1) * sizeof(*told));
    return st;
}

/* ---- The whole ---- */

static cfx_status apply(cfx_module *gm, const char *const *passes, size_t n,
                        cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < n && !st; i++)
        st = cfx_pass_apply(gm, passes[i], false, NULL, err);
    return st;
}

/* Quantized values are other tensors than those that they are made from. */
static cfx_status functionalize(cfx_module *gm, cfx_error *err)
{
    return cfx_pass_apply(gm, "functionalize", false, NULL, err);
}

static cfx_status find_layers(cfx_module *gm, cfx_error *err)
{
    static const char *const passes[] = {"functionalize",  "fuse_layer_norm",
                                         "recompose",      "fuse_conv_bn",
                                         "fuse_linear_bn", "fuse_gelu"};
    return apply(gm, passes, sizeof(passes) / sizeof(*passes), err);
}

cfx_status cfx_quantize__lower(cfx_module *gm, const cfx_value *inputs,
                               size_t ninputs, cfx_error *err)
{
    /* Among tensors, operator.add is torch.add, whose effects are known. A
     * weight that the graph transposes is one when it is folded. */
    static const char *const passes[] = {
        "remove_dropout", "inline_modules",
        "normalize(keywords=False, defaults=False, tensors=True)",
        "constant_folding"};
    cfx_status st = with_shapes(gm, inputs, ninputs, find_layers, err);
    if (!st)
        st = apply(gm, passes, sizeof(passes) / sizeof(*passes), err);
    if (!st)
        st = with_shapes(gm, inputs, ninputs, functionalize, err);
    return st ? st : lift_all(gm, err);
}
