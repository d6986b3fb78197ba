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

/* The post-operations, in the order of the kernels. */
typedef enum cfx_post_op {
    CFX_POST_ADD,        /* ('add', tensor) */
    CFX_POST_CLAMP,      /* ('clamp', min, max) */
    CFX_POST_ACTIVATION, /* see op/fused_activation.h */
    CFX_POST_TO,         /* ('to', dtype), of images: float32 or bfloat16 */
    CFX_POST_DEPTHWISE,  /* blocked_depthwise_conv2d */
    /* ('quantize', zero_point): rounded, plus the zero point, as uint8 */
    CFX_POST_QUANTIZE,
    CFX_POST_QUANTIZED_ADD, /* quantized_add, of what is uint8 */
    CFX_POST_OPS
} cfx_post_op;

/* Those of floats, and of images, which may be bfloat16. */
enum {
    CFX_POST_FLOATS = 1 << CFX_POST_ADD | 1 << CFX_POST_CLAMP |
                      1 << CFX_POST_ACTIVATION,
    CFX_POST_IMAGES = CFX_POST_FLOATS | 1 << CFX_POST_TO
};

typedef struct cfx_post_ops {
    int bias, list;       /* the enumerators of the parameters */
    int takes;            /* a bit for each that the operator takes */
    int at[CFX_POST_OPS]; /* the position of each in the list; -1: none */
    bool biased;          /* is a bias given? */
    cfx_dtype type;       /* of the result */
    cfx_fused_activation activation;
} cfx_post_ops;

/* Read the post-operations, of which `takes` are supported. Fails with CFX_EINVAL,
 * CFX_EDTYPE. */
cfx_status cfx_post_ops_read(const cfx_call *call, int bias, int list,
                             int takes, cfx_post_ops *out);
/* The arguments of a post-operation; NULL: there is none. */
const cfx_value *cfx_post_ops_args(const cfx_call *call, const cfx_post_ops *p,
                                   cfx_post_op which);
/* The bounds of 'clamp', or infinity. */
void cfx_post_ops_range(const cfx_call *call, const cfx_post_ops *p, float *lo,
                        float *hi);
/* Can the post-operation `next` follow `last`? */
bool cfx_post_op_follows(const char *last, const char *next);

/* The call that a post-operation of torch.ops.cfx is, on the result so far, with the
 * arguments `in`. Fails with CFX_EINVAL. */
cfx_status cfx_post_ops_bind(const cfx_call *call, const cfx_post_ops *p,
                             cfx_post_op which, cfx_tensor *result,
                             cfx_call *out, cfx_value in[CFX_MAX_PARAMS]);

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
