/*
 * random -- weights and inputs made from a seed, the same on every machine.
 *
 * The formula; integers are unsigned, of 64 bits, and wrap:
 *
 *     key(seed, name)  mix64(seed + 0x9E3779B97F4A7C15) ^ fnv1a64(name)
 *     r_i              cfx_random_bits(key, i), i the row-major index
 *     u_i              (r_i >> 11) * 2^-53
 *     z_i              (sum of the four 16-bit fields of r_i - 131070)
 *                      * (sqrt(3) / 65536): nearly normal, deviation 1
 *
 * A parameter or buffer, by its full name, takes the first rule that fits:
 *
 *     integer or bool                   0
 *     name ends with "running_mean"     0.1 * z
 *     name ends with "running_var"      0.5 + u
 *     rank >= 2                         z * sqrt(2 / fan_in), fan_in being
 *                                       numel / shape[0] where shape[0] > 1,
 *                                       else the last extent
 *     last component starts "weight"    G * (1 + 0.1 * z)
 *     any other                         0.1 * z
 *
 * with G = max(1, A / 4)^(-1/6), or max(1, A / 20)^(-1/10) where M >= A; A and
 * M are the numbers of nodes that add and that multiply two nodes. It keeps
 * deep residual networks from growing without bound, and those that scale
 * their branches (squeeze and excitation) from fading away. An input has the
 * key of "input:" and its name; it is z, an integer r % 10 or a given limit, a bool
 * r & 1. All is computed in double and rounded once, to nearest even.
 */
#include <cfx/file.h>

#include <math.h>

#include "base/util.h"

enum { GRAIN = 1 << 15, CHUNK = 256 };

typedef enum rule { ZERO, SCALED, UNIFORM, GAIN, DIGIT, BIT } rule;

struct fill {
    uint64_t key;
    rule rule;
    double scale;   /* of SCALED and GAIN */
    uint64_t limit; /* of DIGIT */
    cfx_dtype dtype;
    unsigned char *data;
};

static uint64_t key_of(uint64_t seed, const char *prefix, const char *name)
{
    const char *part[] = {prefix, name};
    uint64_t hash = UINT64_C(0xCBF29CE484222325);

    for (int i = 0; i < 2; i++) {
        for (const char *p = part[i]; *p; p++)
            hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001B3);
    }
    return cfx_mix64(seed + UINT64_C(0x9E3779B97F4A7C15)) ^ hash;
}

/* ---- Numbers ---- */

static double normal(uint64_t r)
{
    const double deviation = 1.7320508075688772 / 65536; /* sqrt(3) */
    uint64_t pairs = (r & UINT64_C(0x0000FFFF0000FFFF)) +
                     (r >> 16 & UINT64_C(0x0000FFFF0000FFFF));
    int32_t sum = (int32_t)((pairs & 0xFFFFFFFF) + (pairs >> 32));

    return (double)(sum - 131070) * deviation;
}

static double gained(uint64_t r, double gain)
{
    /* Stored, so that no compiler joins the product and the sum into one
     * operation, which would round once where two are meant. */
    volatile double tenth = 0.1 * normal(r);

    return gain * (1.0 + tenth);
}

/* Values begin .. begin + n, at most CHUNK, in double. */
static void chunk_of(const struct fill *f, uint64_t begin, int n, double *out)
{
    switch (f->rule) {
    case SCALED:
        for (int i = 0; i < n; i++)
            out[i] = normal(cfx_random_bits(f->key, begin + (uint64_t)i)) *
                     f->scale;
        break;
    case UNIFORM:
        for (int i = 0; i < n; i++)
            out[i] = 0.5 + cfx_random_uniform(
                               cfx_random_bits(f->key, begin + (uint64_t)i));
        break;
    case GAIN:
        for (int i = 0; i < n; i++)
            out[i] = gained(cfx_random_bits(f->key, begin + (uint64_t)i),
                            f->scale);
        break;
    case DIGIT:
        for (int i = 0; i < n; i++)
            out[i] = (double)(cfx_random_bits(f->key, begin + (uint64_t)i) %
                              f->limit);
        break;
    case BIT:
        for (int i = 0; i < n; i++)
            out[i] = (double)(cfx_random_bits(f->key, begin + (uint64_t)i) &
                              1);
        break;
    case ZERO: memset(out, 0, (size_t)n * sizeof(*out)); break;
    }
}

/* ---- Rounding ---- */

/* To float, inexact results to the odd neighbour: rounding that once more, to
 * fewer bits, gives what rounding the double itself would. */
static float round_to_odd(double x)
{
    union {
        float f;
        uint32_t u;
    } y = {.f = (float)x};

    if ((double)y.f == x)
        return y.f;
    if (fabs((double)y.f) > fabs(x))
        y.u--;
    y.u |= 1;
    return y.f;
}

static void store(const struct fill *f, int64_t begin, int n, const double *x)
{
    unsigned char *to = f->data + (size_t)begin * cfx_dtype_size(f->dtype);

    switch (f->dtype) {
    case CFX_F32:
        for (int i = 0; i < n; i++)
            ((float *)(void *)to)[i] = (float)x[i];
        break;
    case CFX_F64: memcpy(to, x, (size_t)n * sizeof(*x)); break;
    default:
        for (int i = 0; i < n; i++, to += cfx_dtype_size(f->dtype))
            cfx_element_set_double(f->dtype, to,
                                   cfx_dtype_is_float(f->dtype)
                                       ? (double)round_to_odd(x[i])
                                       : x[i]);
    }
}

static void fill_piece(void *arg, int64_t begin, int64_t end, int worker)
{
    const struct fill *f = arg;
    double x[CHUNK];

    (void)worker;
    while (begin < end) {
        int n = end - begin < CHUNK ? (int)(end - begin) : CHUNK;
        chunk_of(f, (uint64_t)begin, n, x);
        store(f, begin, n, x);
        begin += n;
    }
}

/* Fill a row-major tensor. The parts of complex numbers are numbers. */
static cfx_status fill(cfx_tensor *t, struct fill f, cfx_error *err)
{
    bool complex = cfx_dtype_is_complex((cfx_dtype)t->dtype);
    int64_t n = cfx_tensor_numel(t);
    f.dtype = cfx_dtype_real((cfx_dtype)t->dtype);
    f.data = t->data;
    cfx_parallel_for(t->ctx, complex ? 2 * n : n, GRAIN, fill_piece, &f);
    return cfx_context_check(t->ctx, err);
}

/* ---- Inputs ---- */

static cfx_status randomize(cfx_tensor *t, uint64_t seed, const char *name,
                            uint64_t limit, cfx_error *err)
{
    struct fill f = {
        .key = key_of(seed, "input:", name), .scale = 1, .limit = limit};
    cfx_tensor *flat = t;
    int64_t shape[CFX_MAX_RANK];

    if (cfx_tensor_is_meta(t))
        return cfx_fail(err, CFX_EINVAL,
                        "a tensor without memory cannot be filled");
    f.rule = cfx_dtypes[t->dtype].category >= CFX_CAT_FLOAT ? SCALED
             : t->dtype == CFX_BOOL                         ? BIT
                                                            : DIGIT;
    if (cfx_tensor_is_contiguous(t))
        return fill(t, f, err);
    for (int i = 0; i < t->rank; i++)
        shape[i] = cfx_tensor_size(t, i);
    cfx_status st = cfx_tensor_new(&flat, t->ctx, (cfx_dtype)t->dtype, t->rank,
                                   shape, err);
    if (st)
        return st;
    st = fill(flat, f, err);
    if (!st)
        st = cfx_tensor_copy(t, flat, err);
    cfx_tensor_unref(flat);
    return st;
}

cfx_status cfx_tensor_randomize(cfx_tensor *t, uint64_t seed, const char *name,
                                cfx_error *err)
{
    return randomize(t, seed, name, 10, err);
}

cfx_status cfx_tensor_randomize_below(cfx_tensor *t, uint64_t seed,
                                      const char *name, int64_t limit,
                                      cfx_error *err)
{
    cfx_dtype type = (cfx_dtype)t->dtype;

    if (cfx_dtypes[type].category != CFX_CAT_INT || limit < 1 ||
        limit - 1 > cfx_dtype_most(type))
        return cfx_fail(err, CFX_EINVAL,
                        "%s does not hold integers of 0 to %lld",
                        cfx_dtypes[type].name, (long long)limit - 1);
    return randomize(t, seed, name, (uint64_t)limit, err);
}

/* ---- Weights ---- */

static bool is_node(cfx_value v)
{
    return v.kind == CFX_NODE;
}

/* The spellings of one operation; methods follow after "Tensor.". */
static const char *const sums[] = {
    "operator.add", "_operator.add", "operator.iadd", "_operator.iadd",
    "torch.add",    "Tensor.add",    "Tensor.add_",   NULL,
};
static const char *const products[] = {
    "operator.mul", "_operator.mul", "operator.imul", "_operator.imul",
    "torch.mul",    "Tensor.mul",    "Tensor.mul_",   NULL,
};

/* Is it one of these operations, on two nodes? */
static bool pairs(const cfx_node *n, const char *const *names)
{
    const char *target = n->target->text;
    bool method = n->op == CFX_CALL_METHOD;

    if (n->nargs < 2 || !is_node(n->args[0]) || !is_node(n->args[1]) ||
        (!method && n->op != CFX_CALL_FUNCTION))
        return false;
    for (; *names; names++) {
        const char *name = *names;
        if (!strncmp(name, "Tensor.", 7) == method &&
            !strcmp(target, method ? name + 7 : name))
            return true;
    }
    return false;
}

static double gain_of(const cfx_graph *g)
{
    double a = 0, m = 0;

    for (const cfx_node *n = g ? cfx_graph_first(g) : NULL; n;
         n = cfx_node_next(n)) {
        a += pairs(n, sums);
        m += pairs(n, products);
    }
    return m >= a ? pow(a > 20 ? a / 20 : 1, -1.0 / 10.0)
                  : pow(a > 4 ? a / 4 : 1, -1.0 / 6.0);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);

    return n >= k && !strcmp(s + n - k, end);
}

/* The rule of a parameter, by its full name. */
static struct fill rule_of(const cfx_tensor *t, const char *path, double gain)
{
    const char *dot = strrchr(path, '.'), *last = dot ? dot + 1 : path;
    struct fill f = {.rule = SCALED, .scale = 0.1};

    if (!cfx_dtype_is_float((cfx_dtype)t->dtype)) {
        f.rule = ZERO;
    } else if (ends_with(path, "running_mean")) {
        f.rule = SCALED;
    } else if (ends_with(path, "running_var")) {
        f.rule = UNIFORM;
    } else if (t->rank >= 2) {
        int64_t first = cfx_tensor_size(t, 0);
        int64_t fan_in = first > 1 ? cfx_tensor_numel(t) / first
                                   : cfx_tensor_size(t, t->rank - 1);
        f.scale = sqrt(2.0 / (double)(fan_in > 1 ? fan_in : 1));
    } else if (!strncmp(last, "weight", 6)) {
        f.rule = GAIN;
        f.scale = gain;
    }
    return f;
}

static cfx_status randomize_state(cfx_module *m, const cfx_state *state,
                                  const char *path, uint64_t seed, double gain,
                                  cfx_error *err)
{
    int64_t shape[CFX_MAX_RANK];
    const cfx_tensor *old = state->tensor;
    cfx_tensor *t;

    for (int i = 0; i < old->rank; i++) {
        if (!cfx_dim_is_int(old->shape[i]))
            return cfx_fail(err, CFX_ESHAPE, "%s: axis %d has no known extent",
                            path, i);
        shape[i] = cfx_tensor_size(old, i);
    }
    cfx_status st = cfx_tensor_new(&t, old->ctx, (cfx_dtype)old->dtype,
                                   old->rank, shape, err);
    if (st)
        return st;
    struct fill f = rule_of(t, path, gain);
    f.key = key_of(seed, "", path);
    st = fill(t, f, err);
    if (!st)
        st = cfx_module_set(m, state->name, t, err);
    cfx_tensor_unref(t);
    return st;
}

/* The path of a module and a dot, or nothing for the root. */
static bool put_path(cfx_buf *path, const cfx_module *m)
{
    size_t n = cfx_module_path(m, NULL, 0);

    cfx_buf_clear(path);
    if (!n)
        return true;
    if (!cfx_buf_reserve(path, n + 1))
        return false;
    cfx_module_path(m, path->s, n + 1);
    path->len = n;
    cfx_buf_putc(path, '.');
    return !path->failed;
}

static cfx_status randomize_module(cfx_module *m, cfx_buf *path, uint64_t seed,
                                   double gain, cfx_error *err)
{
    if (!put_path(path, m))
        return cfx_no_memory(err);
    size_t base = path->len;
    for (size_t i = 0; i < cfx_module_nstate(m); i++) {
        const cfx_state *state = cfx_module_state_at(m, i);
        if (!state->tensor)
            continue;
        path->len = base;
        cfx_buf_puts(path, state->name);
        if (path->failed)
            return cfx_no_memory(err);
        cfx_status st = randomize_state(m, state, path->s, seed, gain, err);
        if (st)
            return st;
    }
    return CFX_OK;
}

cfx_status cfx_module_randomize(cfx_module *gm, uint64_t seed, cfx_error *err)
{
    cfx_context *ctx = cfx_module_context(gm);
    double gain = gain_of(cfx_graph_module_graph(gm));
    cfx_status st = CFX_OK;
    cfx_buf path;

    cfx_buf_init(&path, ctx);
    for (cfx_module *m = gm; m && !st; m = cfx_module_next(m, gm)) {
        st = cfx_context_check(ctx, err);
        if (!st)
            st = randomize_module(m, &path, seed, gain, err);
    }
    cfx_buf_release(&path);
    return st;
}
