/*
 * op_device -- device labels of metas.
 *
 * A label is the device that the data of a meta would be on. As in PyTorch,
 * all tensors of a call must be on one device, except CPU tensors of rank 0
 * and tensors without a label. Eager calls compute on the CPU, without labels.
 */
#include "base/context_impl.h"
#include "op/op_impl.h"

struct found {
    cfx_call *call;
    cfx_device_label device;
    bool is_weak; /* of a CPU tensor of rank 0 */
};

static cfx_status two_devices(cfx_call *call, cfx_device_label a,
                              cfx_device_label b)
{
    char x[32], y[32];
    cfx_device_format(a, x, sizeof(x));
    cfx_device_format(b, y, sizeof(y));
    return cfx_call_fail(
        call, CFX_EINVAL,
        "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
        x, y);
}

/* Merge devices like PyTorch's fake tensors. */
static cfx_status merge(void *user, cfx_value v)
{
    struct found *f = user;
    const cfx_tensor *t = v.kind == CFX_TENSOR ? v.u.tensor : NULL;
    bool weak = t && t->device == CFX_DEVICE_CPU && !t->rank;
    if (!t || !t->device || (f->device && f->device != t->device && weak))
        return CFX_OK;
    if (f->device && f->device != t->device && !f->is_weak)
        return f->call->op->flags & CFX_OP_ANY_DEVICES
                   ? CFX_OK
                   : two_devices(f->call, f->device, t->device);
    f->is_weak = f->device == t->device ? f->is_weak && weak : weak;
    f->device = t->device;
    return CFX_OK;
}

cfx_status cfx_call__find_device(cfx_call *call)
{
    struct found f = {call, 0, false};
    cfx_status st = CFX_OK;
    const cfx_value *v = call->in;
    for (uint32_t left = call->schema->tensors; left && !st; left >>= 1, v++)
        if (left & 1 && v->kind != CFX_NONE &&
            (v->kind != CFX_TENSOR || v->u.tensor->device))
            st = cfx_value_visit(*v, merge, &f);
    call->device = f.device;
    return st;
}

bool cfx_call__moves(const cfx_call *call, const cfx_tensor *x)
{
    cfx_device_label from = x->device ? x->device : CFX_DEVICE_CPU;
    return call->device && call->device != from;
}

/* A run has one device. */
static cfx_status map_to_cpu(cfx_call *call, const char *name)
{
    cfx_context *ctx = call->ctx->parent;
    if (ctx->strict_devices)
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "there is no device '%s', only 'cpu'", name);
    if (!atomic_exchange(&ctx->device_noted, true))
        cfx_message(
            ctx, CFX_NOTE,
            "the graph asks for device '%s'; all is computed on the CPU",
            name);
    return CFX_OK;
}

cfx_status cfx_call__take_device(cfx_call *call, int k)
{
    cfx_value v = cfx_call_value(call, k);
    cfx_device_label device;
    if (cfx_value_is_none(v))
        return CFX_OK;
    if (!cfx_device_parse(&device, v.u.str->text))
        return cfx_call_fail(call, CFX_EINVAL,
                             "there is no device type '%s' in PyTorch",
                             v.u.str->text);
    if (cfx_call__is_labelled(call))
        call->device = device;
    else if (cfx_device_is(device, "meta"))
        return cfx_call_fail(call, CFX_EUNSUPPORTED,
                             "tensors on device 'meta' have no data");
    else if (device != CFX_DEVICE_CPU)
        return map_to_cpu(call, v.u.str->text);
    return CFX_OK;
}
