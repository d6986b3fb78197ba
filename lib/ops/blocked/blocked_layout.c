/*
 * blocked_layout -- images in blocks of 16 channels, (N, C / 16, H, W, 16), and back.
 *
 * shape   (N, C, H, W) and (N, ceil(C / 16), H, W, 16); channels past the last
 *         are zeros, which the way back leaves out. A block may also have another
 *         number of channels.
 * cost    none; what is read and written.
 */
#include "kernel/blocked/blocked.h"
#include "op/infer.h"
#include "op/loop.h"
#include "op/op_impl.h"

CFX_PARAMS(params, INPUT, CHANNELS, BLOCK);

/* ---- Copies ---- */

/* An image in one of the two layouts, with blocks of B channels: the element of
 * channel c and pixel p of image n is at n * image + c / B * block + c % B *
 * channel + p * pixel. */
typedef struct layout {
    char *data;
    int64_t image, block, channel, pixel;
} layout;

static layout row_major(const cfx_tensor *t, int64_t block)
{
    int64_t pixels = cfx_tensor_size(t, 2) * cfx_tensor_size(t, 3);
    return (layout){t->data, pixels * cfx_tensor_size(t, 1), pixels * block,
                    pixels, 1};
}

static layout blocked(const cfx_tensor *t)
{
    int64_t pixels = cfx_tensor_size(t, 2) * cfx_tensor_size(t, 3);
    int64_t block = cfx_tensor_size(t, 4);
    return (layout){t->data, pixels * cfx_tensor_size(t, 1) * block,
                    pixels * block, 1, block};
}

static void add_operand(cfx_iter *it, layout l, cfx_dtype dtype, int64_t block,
                        int64_t channel)
{
    int64_t at = block * l.block + channel * l.channel;
    int64_t size = (int64_t)cfx_dtype_size(dtype);
    int64_t *stride = cfx_iter_add(it, l.data + at * size, dtype);
    stride[0] = l.image;
    stride[1] = l.block;
    stride[2] = l.pixel;
    stride[3] = l.channel;
}

/* Copy, or fill with zeros if x has no data: `shape` is images, blocks, pixels
 * and channels in a block, from a block and a channel in it on. */
static void move(cfx_call *call, cfx_dtype dtype, layout y, layout x,
                 const int64_t shape[4], int64_t block, int64_t channel)
{
    cfx_iter it;
    if (shape[0] * shape[1] * shape[2] * shape[3] == 0)
        return;
    cfx_iter_begin(&it, 4, shape);
    add_operand(&it, y, dtype, block, channel);
    if (x.data)
        add_operand(&it, x, dtype, block, channel);
    else
        cfx_iter_number(&it, 0);
    cfx_copy(call->ctx, &it);
}

static cfx_status to_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT), *y = call->out[0];
    cfx_dtype dtype = (cfx_dtype)x->dtype;
    int64_t block = cfx_tensor_size(y, 4);
    int64_t channels = cfx_tensor_size(x, 1), whole = channels / block;
    int64_t rest = channels % block, n = cfx_tensor_size(x, 0);
    int64_t pixels = cfx_tensor_size(x, 2) * cfx_tensor_size(x, 3);
    layout from = row_major(x, block), to = blocked(y), none = {0};
    move(call, dtype, to, from, (int64_t[]){n, whole, pixels, block}, 0, 0);
    if (rest) {
        move(call, dtype, to, from, (int64_t[]){n, 1, pixels, rest}, whole, 0);
        move(call, dtype, to, none, (int64_t[]){n, 1, pixels, block - rest},
             whole, rest);
    }
    return CFX_OK;
}

static cfx_status from_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT), *y = call->out[0];
    cfx_dtype dtype = (cfx_dtype)x->dtype;
    int64_t channels = cfx_tensor_size(y, 1), whole = channels / CFX_BLOCK;
    int64_t rest = channels % CFX_BLOCK, n = cfx_tensor_size(y, 0);
    int64_t pixels = cfx_tensor_size(y, 2) * cfx_tensor_size(y, 3);
    layout from = blocked(x), to = row_major(y, CFX_BLOCK);
    move(call, dtype, to, from, (int64_t[]){n, whole, pixels, CFX_BLOCK}, 0,
         0);
    move(call, dtype, to, from, (int64_t[]){n, 1, pixels, rest}, whole, 0);
    return CFX_OK;
}

/* ---- Shapes ---- */

static cfx_dim blocks_of(cfx_shape_env *env, cfx_dim channels, int64_t block)
{
    cfx_dim up = cfx_dim_add(env, channels, cfx_dim_int(block - 1));
    return cfx_dim_floordiv(env, up, cfx_dim_int(block));
}

static cfx_status to_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    if (x->rank != 4)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "expected (N, C, H, W), got a tensor of rank %d",
                             x->rank);
    int64_t block = cfx_call_int(call, BLOCK);
    if (block < 1 || block > CFX_BLOCK)
        return cfx_call_fail(call, CFX_EINVAL,
                             "a block has 1 to 16 channels, not %lld",
                             (long long)block);
    cfx_dim shape[] = {x->shape[0], blocks_of(call->env, x->shape[1], block),
                       x->shape[2], x->shape[3], cfx_dim_int(block)};
    return cfx_call_out(call, (cfx_dtype)x->dtype, 5, shape);
}

static cfx_status from_infer(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    cfx_dim channels = cfx_value_dim(cfx_call_value(call, CHANNELS));
    char s[64], t[64];
    if (x->rank != 5 ||
        !cfx_dim_eq(call->env, x->shape[4], cfx_dim_int(CFX_BLOCK)))
        return cfx_call_fail(
            call, CFX_ESHAPE,
            "expected blocks of channels, (N, C / 16, H, W, 16), got a tensor of rank %d",
            x->rank);
    if (!cfx_dim_le(call->env, cfx_dim_int(0), channels) ||
        !cfx_dim_eq(call->env, blocks_of(call->env, channels, CFX_BLOCK),
                    x->shape[1])) {
        cfx_dim_format(channels, s, sizeof(s));
        cfx_dim_format(x->shape[1], t, sizeof(t));
        return cfx_call_fail(call, CFX_ESHAPE,
                             "%s channels do not fill %s blocks of 16", s, t);
    }
    cfx_dim shape[] = {x->shape[0], channels, x->shape[2], x->shape[3]};
    return cfx_call_out(call, (cfx_dtype)x->dtype, 4, shape);
}

/* ---- Descriptors ---- */

const cfx_op cfx_op__to_blocked = {
    .schema = "to_blocked(Tensor self, int block=16) -> Tensor",
    .params = params,
    .aliases = "torch.ops.cfx.to_blocked.default torch.ops.cfx.to_blocked",
    .doc = "An image in blocks of 16 channels.",
    .infer = to_infer,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .run = to_run,
};

const cfx_op cfx_op__from_blocked = {
    .schema = "from_blocked(Tensor self, SymInt channels) -> Tensor",
    .params = params,
    .aliases = "torch.ops.cfx.from_blocked.default torch.ops.cfx.from_blocked",
    .doc = "An image out of blocks of 16 channels.",
    .infer = from_infer,
    .flags = CFX_OP_COPIES_TO_CONTIGUOUS,
    .run = from_run,
};
