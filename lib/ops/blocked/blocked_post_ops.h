/*
 * blocked_post_ops.h -- what operators with packed weights apply to each sum: a bias, and
 * post-operations as oneDNN has them. Not installed.
 *
 * Such an operator has the parameters `Tensor? bias` and `any[] post_ops`, a list of
 * tuples: the name of an operator, and its arguments after the first, which is the
 * result so far.
 *
 *     post_ops = [('add', %x), ('clamp', 0.0, 6.0), ('gelu', 'tanh')]
 *
 * Kernels apply them in one order, which is that of the enumeration; any may be left
 * out.
 */
#ifndef CFX_BLOCKED_POST_OPS_H
#define CFX_BLOCKED_POST_OPS_H

#include "kernel/blocked/blocked.h"
#include "op/fused_activation.h"
#include "op/op_cost.h"

/* Post-operations that an operator takes. */
enum {
    CFX_POST_ADD = 1,        /* ('add', tensor) */
    CFX_POST_CLAMP = 2,      /* ('clamp', min, max) */
    CFX_POST_ACTIVATION = 4, /* see op/fused_activation.h */
    /* ('to', dtype): float32 or bfloat16. Then images may be bfloat16. */
    CFX_POST_TO = 8,
    CFX_POST_DEPTHWISE = 16, /* blocked_depthwise_conv2d */
    /* ('quantize', zero_point): rounded, plus the zero point, as uint8 */
    CFX_POST_QUANTIZE = 32,
    CFX_POST_QUANTIZED_ADD = 64, /* quantized_add, of what is uint8 */
    CFX_POST_FLOATS = CFX_POST_ADD | CFX_POST_CLAMP | CFX_POST_ACTIVATION,
    CFX_POST_IMAGES = CFX_POST_FLOATS | CFX_POST_TO
};

typedef struct cfx_post_ops {
    int bias, list;  /* the enumerators of the parameters */
    uint32_t takes;  /* CFX_POST_... */
    int add;         /* where 'add' is in the list; -1: nowhere */
    int call;        /* likewise, an operator of torch.ops.cfx */
    bool biased;     /* is a bias given? */
    int bounds;      /* how many `clamp` has */
    double bound[2]; /* -INFINITY, INFINITY without */
    cfx_dtype type;  /* of the result */
    int64_t zero_point;
    cfx_fused_activation activation;
} cfx_post_ops;

/* Read the post-operations, of which `takes` are supported. Fails with CFX_EINVAL,
 * CFX_EDTYPE. */
cfx_status cfx_post_ops_read(const cfx_call *call, int bias, int list,
                             uint32_t takes, cfx_post_ops *out);
/* The tensor that is added, or NULL. */
const cfx_tensor *cfx_post_ops_add(const cfx_call *call,
                                   const cfx_post_ops *p);
/* Can the post-operation `next` follow `last`? */
bool cfx_post_op_follows(const char *last, const char *next);

/* The call of `call` on the result so far, with the arguments `in`. Fails with
 * CFX_EINVAL. */
cfx_status cfx_post_ops_bind(const cfx_call *call, const cfx_post_ops *p,
                             cfx_tensor *result, cfx_call *out,
                             cfx_value in[CFX_MAX_PARAMS]);

/* Check that input, weight, bias and 'add' are float32; images may also be
 * bfloat16, and a weight of other types, which `narrow` has as bits (1 << dtype).
 * Fails with CFX_EDTYPE. */
cfx_status cfx_post_ops_check_types(const cfx_call *call,
                                    const cfx_post_ops *p, int input,
                                    int weight, uint32_t narrow);
/* Check bias and 'add' for a result of this shape, which is that of an image if images may
 * be bfloat16. Fails with CFX_ESHAPE. */
cfx_status cfx_post_ops_check_shapes(const cfx_call *call,
                                     const cfx_post_ops *p, int rank,
                                     const cfx_dim *shape);

/* Add the operations on each of the sums. */
void cfx_post_ops_cost(const cfx_call *call, const cfx_post_ops *p,
                       cfx_dim sums, cfx_cost *cost);

cfx_blocked_epilogue cfx_post_ops_kernel(const cfx_call *call,
                                         const cfx_post_ops *p);

#endif
