/*
 * frozen -- tensors that the graph computes from parameters and buffers that it
 * never writes.
 */
#include "interp/passes/lower/frozen.h"

cfx_status cfx_frozen__init(cfx_frozen *f, cfx_pass_call *p)
{
    *f = (cfx_frozen){.p = p};
    cfx_constants__init(&f->known, p);
    cfx_status st = cfx_path_uses__init(&f->uses, p);
    return st ? st : cfx_pass__aliases(&f->aliases, p);
}

void cfx_frozen__release(cfx_frozen *f)
{
    cfx_constants__release(&f->known);
    cfx_path_uses__release(&f->uses);
    cfx_aliases__release(&f->aliases);
}

static bool is_tensor(const cfx_frozen *f, const cfx_node *n)
{
    cfx_value v;
    return !cfx_module_fetch_attr(&v, f->p->gm, n->target->text, NULL) &&
           v.kind == CFX_TENSOR &&
           !cfx_path_uses__writes(&f->uses, v.u.tensor);
}

static bool is_constant(void *user, const cfx_node *n)
{
    cfx_frozen *f = user;
    if (!cfx_frozen__has(f, n) || cfx_aliases__is_written(&f->aliases, n))
        return false;
    return n->op == CFX_GET_ATTR
               ? is_tensor(f, n)
               : (n->op == CFX_CALL_FUNCTION || n->op == CFX_CALL_METHOD) &&
                     !cfx_effects_any(cfx_aliases__effects(&f->aliases, n)) &&
                     cfx_constants__is_known(&f->known, n);
}

cfx_status cfx_frozen__load(cfx_frozen *f, const cfx_node *n, cfx_dtype dtype,
                            cfx_tensor **out)
{
    cfx_value v = CFX_NOTHING;
    *out = NULL;
    cfx_status st = cfx_constants__find(&f->known, n, is_constant, f, &v);
    if (!st && v.kind == CFX_TENSOR && v.u.tensor->dtype == dtype &&
        cfx_tensor_is_contiguous(v.u.tensor))
        *out = cfx_tensor_ref(v.u.tensor);
    cfx_value_unref(v);
    return st;
}
