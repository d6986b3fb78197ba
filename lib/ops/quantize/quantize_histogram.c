/*
 * observe_histogram -- add a tensor to a running histogram, whose range grows:
 * the forward of HistogramObserver.
 *
 * shape   the result is None; histogram (bins), min_val and max_val (of rank 0)
 *         are written.
 * cost    a difference, a product and a quotient an element, and 1 for counting
 *         it; when the range grows, 16 parts of each bin likewise.
 *
 * Infinite elements are left out. An empty histogram, whose min_val is infinity
 * or whose max_val is -infinity, takes the range of the first tensor. When the
 * range grows, each bin is divided into 16 parts, which move to the bin that
 * their middle is in. The arithmetic is PyTorch's, in float32.
 */
#include <math.h>
#include <string.h>

#include "kernel/pointwise/pointwise_kernel.h"
#include "op/infer.h"
#include "op/op_impl.h"

CFX_PARAMS(params, INPUT, HISTOGRAM, MIN_VAL, MAX_VAL);

enum { PARTS = 16 };

static cfx_status observe_histogram_infer(cfx_call *call)
{
    for (int k = INPUT; k <= MAX_VAL; k++)
        if (cfx_call_tensor(call, k)->dtype != CFX_F32)
            return cfx_call_fail(
                call, CFX_EDTYPE, "%s of a histogram must be float32, not %s",
                cfx_call__param_name(call, k),
                cfx_dtypes[cfx_call_tensor(call, k)->dtype].name);
    if (cfx_call_tensor(call, HISTOGRAM)->rank != 1 ||
        cfx_call_tensor(call, MIN_VAL)->rank ||
        cfx_call_tensor(call, MAX_VAL)->rank)
        return cfx_call_fail(call, CFX_ESHAPE,
                             "a histogram has one axis, its ends none");
    for (int k = HISTOGRAM; k <= MAX_VAL; k++)
        if (cfx_infer_written(call, cfx_call_tensor(call, k)))
            return CFX_EINVAL;
    return cfx_infer_none(call);
}

static void observe_histogram_cost(const cfx_call *call, cfx_cost *cost)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    cfx_dim n = cfx_cost_numel(call, x);
    cost->ops = cfx_dim_mul(call->env, n, cfx_dim_int(4));
    cost->transcendental = n;
}

/* ---- Counting ---- */

struct range {
    float min, max;
};

/* The finite part of the range of n elements; false if there are none. */
static bool range_of(const float *x, int64_t n, struct range *r)
{
    bool any = false;
    *r = (struct range){INFINITY, -INFINITY};
    for (int64_t i = 0; i < n; i++) {
        if (isnan(x[i]))
            r->min = r->max = x[i];
        if (isnan(r->min) || isinf(x[i]))
            continue;
        any = true;
        r->min = x[i] < r->min ? x[i] : r->min;
        r->max = x[i] > r->max ? x[i] : r->max;
    }
    return any || isnan(r->min);
}

/* Count n elements in the bins of a range; one of no width is that of the
 * elements, and if they are equal, of width 2. */
static void count(const float *x, int64_t n, struct range r, float *bin,
                  int64_t bins)
{
    memset(bin, 0, (size_t)bins * sizeof(*bin));
    if (r.min == r.max && range_of(x, n, &r) && r.min == r.max) {
        r.min -= 1;
        r.max += 1;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!(x[i] >= r.min && x[i] <= r.max))
            continue;
        int64_t k = (int64_t)((x[i] - r.min) * (float)bins / (r.max - r.min));
        bin[k < bins ? k : bins - 1] += 1;
    }
}

/* ---- Growing ---- */

/* The bin of x among those between the n + 1 bounds. */
static int64_t bin_between(const float *bound, int64_t n, float x)
{
    int64_t low = 0, high = n + 1; /* bound[low - 1] <= x < bound[high] */
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (bound[mid] <= x)
            low = mid + 1;
        else
            high = mid;
    }
    return low > n ? n - 1 : low < 1 ? 0 : low - 1;
}

/* Add a histogram of the range `from` to `into`, of the range `to`. `work` has
 * room for the bounds of both. */
static void spread(cfx_context *ctx, const float *h, struct range from,
                   struct range to, float *into, int64_t bins, float *work)
{
    int64_t parts = bins * PARTS;
    float *part = work, *bound = part + parts + 1, *moved = bound + bins + 1;
    float width = (from.max - from.min) / (float)parts;
    cfx_fill_linspace(ctx, part, CFX_F32, parts + 1, (double)from.min,
                      (double)from.max);
    cfx_fill_linspace(ctx, bound, CFX_F32, bins + 1, (double)to.min,
                      (double)to.max);
    memset(moved, 0, (size_t)bins * sizeof(*moved));
    for (int64_t i = 0; i < parts; i++)
        moved[bin_between(bound, bins, part[i] + 0.5f * width)] +=
            h[i / PARTS] / PARTS;
    for (int64_t i = 0; i < bins; i++)
        into[i] += moved[i];
}

/* ---- Runs ---- */

static size_t observe_histogram_workspace(const cfx_call *call)
{
    size_t bins = (size_t)cfx_tensor_size(cfx_call_tensor(call, HISTOGRAM), 0);
    return (bins * (PARTS + 3) + 2) * sizeof(float);
}

/* Add the counts of a single number to its bin in a range. */
static void move_number(const float *h, float number, struct range to,
                        float *into, int64_t bins, float *work)
{
    float sum = 0;
    for (int64_t i = 0; i < bins; i++)
        sum += h[i];
    count(&number, 1, to, work, bins);
    for (int64_t i = 0; i < bins; i++)
        into[i] += work[i] * sum;
}

static void add(const cfx_call *call, const float *x, int64_t n,
                struct range seen, float *h, int64_t bins, struct range *r)
{
    float *new = call->work, *work = new + bins;
    struct range old = *r;
    bool empty = old.min == INFINITY || old.max == -INFINITY;
    if (empty)
        *r = seen;
    else
        *r = (struct range){seen.min < old.min ? seen.min : old.min,
                            seen.max > old.max ? seen.max : old.max};
    count(x, n, *r, new, bins);
    if (!empty && r->min == old.min && r->max == old.max)
        for (int64_t i = 0; i < bins; i++)
            new[i] += h[i];
    else if (!empty && old.min == old.max)
        move_number(h, old.min, *r, new, bins, work);
    else if (!empty)
        spread(call->ctx, h, old, *r, new, bins, work);
    memcpy(h, new, (size_t)bins * sizeof(*h));
}

static cfx_status observe_histogram_run(cfx_call *call)
{
    const cfx_tensor *x = cfx_call_tensor(call, INPUT);
    cfx_tensor *h = cfx_call_tensor(call, HISTOGRAM);
    float *min = cfx_call_tensor(call, MIN_VAL)->data;
    float *max = cfx_call_tensor(call, MAX_VAL)->data;
    int64_t n = cfx_tensor_numel(x), bins = cfx_tensor_size(h, 0);
    struct range r = {*min, *max}, seen;
    if (!bins || !range_of(x->data, n, &seen))
        return CFX_OK;
    if (isnan(seen.min))
        return cfx_call_fail(
            call, CFX_EINVAL,
            "the observed data has NaN, which no histogram has a bin for");
    add(call, x->data, n, seen, h->data, bins, &r);
    *min = r.min;
    *max = r.max;
    return CFX_OK;
}

const cfx_op cfx_op__observe_histogram = {
    .schema =
        "observe_histogram(Tensor input, Tensor(a!) histogram, Tensor(b!) min_val, Tensor(c!) max_val) -> any",
    .params = params,
    .aliases =
        "torch.ops.cfx.observe_histogram.default torch.ops.cfx.observe_histogram",
    .doc = "Add a tensor to a histogram whose range grows.",
    .flags = CFX_OP_COPIES_FIRST_TO_CONTIGUOUS | CFX_OP_EFFECT,
    .infer = observe_histogram_infer,
    .cost = observe_histogram_cost,
    .workspace = observe_histogram_workspace,
    .run = observe_histogram_run,
};
