/*
 * nn_parametrize -- parameters that are computed from others, as
 * torch.nn.utils.parametrize makes them.
 *
 *     (conv): ParametrizedConv2d(
 *       3, 8, kernel_size=(3, 3), stride=(1, 1)
 *       (parametrizations): ModuleDict(
 *         (weight): ParametrizationList(
 *           (0): _WeightNorm()
 *
 * The module is a Conv2d without `weight`; cfx_param_of calls the list
 * instead, which holds the tensors that the weight is computed from:
 * `original0` and `original1`, or `original`.
 */
#include <string.h>

#include <cfx/ops.h>

#include "nn/module_impl.h"
#include "op/scope_impl.h"

/* The child with a list for each parameter, or NULL. */
static cfx_module *parametrizations_of(const cfx_module *m)
{
    return m->nchildren ? cfx_module_child(m, "parametrizations") : NULL;
}

bool cfx_module__is_parametrized(const cfx_module *m)
{
    return parametrizations_of(m) != NULL;
}

cfx_module *cfx_module__parametrization(const cfx_module *m, const char *name)
{
    cfx_module *all = parametrizations_of(m);
    cfx_module *list = all ? cfx_module_child(all, name) : NULL;
    return list && list->type == &cfx_module__ParametrizationList ? list
                                                                  : NULL;
}

/* The first child computes the parameter from one tensor, or from two. */
static int originals_of(const cfx_module *list)
{
    const cfx_module *first = cfx_module_child(list, "0");
    return first && first->forward && first->forward->nparams == 2 ? 2 : 1;
}

/* The last of them has the shape of the parameter. */
static const char *last_original(const cfx_module *list)
{
    return originals_of(list) == 2 ? "original1" : "original";
}

const char *cfx_module__unparametrized(const char *name)
{
    static const char prefix[] = "Parametrized";
    size_t n = sizeof(prefix) - 1;
    return strncmp(name, prefix, n) ? name : name + n;
}

cfx_status cfx_module__parametrize(cfx_module *m, cfx_error *err)
{
    cfx_status st = CFX_OK;
    if (m->schema && strcmp(m->schema->name, m->class_name) &&
        cfx_module__unparametrized(m->class_name) != m->class_name &&
        !cfx_module__is_parametrized(m))
        return cfx_fail(
            err, CFX_ENAME,
            "the module type %s is unknown: it has no parametrizations",
            m->class_name);
    for (size_t i = 0; i < m->nstate && !st; i++) {
        cfx_state *s = &m->state[i];
        cfx_module *list = cfx_module__parametrization(m, s->name);
        if (!list || !s->tensor)
            continue;
        cfx_state moved = {last_original(list), s->tensor, s->is_buffer, true};
        if (!cfx_module_state(list, moved.name))
            st = cfx_module__add_state(list, &moved, err);
        if (!st)
            st = cfx_module_no_param(m, s->name, err);
    }
    return st;
}

bool cfx_module__takes_original(const cfx_module *m, const char *name)
{
    return m->type == &cfx_module__ParametrizationList &&
           originals_of(m) == 2 && !strcmp(name, "original0");
}

static cfx_value list_forward(cfx_scope *s, cfx_module *self,
                              const cfx_value *in)
{
    static const char *const names[] = {"original0", "original1"};
    cfx_value v[2];
    int n = originals_of(self);
    (void)in;
    /* The model's text does not contain the shape of original0. */
    if (n == 2 && !cfx_module_state(self, names[0]) && s->env &&
        !cfx_scope__records(s))
        return cfx_param_of(s, self, names[1]);
    if (n == 2 && !cfx_module_state(self, names[0])) {
        char path[256];
        cfx_module_path(self, path, sizeof(path));
        return cfx_scope_fail(s, CFX_EWEIGHT, "missing weight: %s.%s", path,
                              names[0]);
    }
    for (int i = 0; i < n; i++)
        v[i] = cfx_param_of(s, self, n == 2 ? names[i] : "original");
    for (size_t i = 0; i < self->nchildren; i++) {
        v[0] = cfx_call_module_with(s, self, self->child[i]->name,
                                    cfx_args_of(v, i ? 1 : (size_t)n));
    }
    return v[0];
}

const cfx_module_type cfx_module__ParametrizationList = {
    .schema = "ParametrizationList()",
    .repr = "",
    .doc = "A parameter that is computed from others.",
    .forward_schema = "forward() -> Tensor",
    .forward = list_forward,
};

/* The norms have the extent of the weight along `dim`, and 1 along the others;
 * for dim=None there is one norm. */
static cfx_value WeightNorm_forward(cfx_scope *s, cfx_module *self,
                                    const cfx_value *in)
{
    const cfx_tensor *g = cfx_meta_of(s, in[0]), *v = cfx_meta_of(s, in[1]);
    int64_t dim = g && g->rank ? 0 : -1;
    if (!g || !v)
        return cfx_scope_fail(s, CFX_EUNSUPPORTED,
                              "_WeightNorm needs the shape of its weight");
    (void)self;
    for (int i = 0; i < g->rank && g->rank == v->rank; i++)
        if (!cfx_dim_is(g->shape[i], 1) ||
            (cfx_dim_is(v->shape[i], 1) && cfx_dim_is(g->shape[dim], 1)))
            dim = i;
    return cfx_aten_weight_norm(s, in[1], in[0], .dim = cfx_int(dim));
}

const cfx_module_type cfx_module___WeightNorm = {
    .schema = "_WeightNorm(int dim=0)",
    .repr = "",
    .implied = "dim",
    .doc = "The directions of one tensor with the lengths of another.",
    .forward_schema = "forward(Tensor weight_g, Tensor weight_v) -> Tensor",
    .forward = WeightNorm_forward,
};
