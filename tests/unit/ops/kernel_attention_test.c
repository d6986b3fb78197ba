/*
 * kernel_attention_test.c -- attention and recurrent layers against their
 * formulas in double.
 */
#include "kernel/attention_kernel.h"
#include "kernel/rnn_kernel.h"

#include "tests/unit/ops/kernel_data.h"
#include "tests/unit/unit.h"

static contexts all;

static double tolerance(cfx_dtype t)
{
    return t == CFX_F32   ? 5e-6
           : t == CFX_F64 ? 1e-12
           : t == CFX_F16 ? 4e-3
                          : 3e-2;
}

/* ---- Attention ---- */

/* Element i of q, k or v, as it is. */
static double number(const cfx_attention *a, const void *x, int64_t i)
{
    return array_at(a->bytes ? CFX_U8 : a->dtype, x, i);
}

static double score(const cfx_attention *a, int64_t n, int64_t h, int64_t i,
                    int64_t j)
{
    int64_t kh = h / (a->kv_group ? a->kv_group : 1);
    double sum = 0, mask = 0;

    if (a->causal && j > i)
        return -INFINITY;
    if (a->mask) {
        int64_t m = n * a->mask_stride[0] + h * a->mask_stride[1] +
                    i * a->mask_stride[2] + j * a->mask_stride[3];
        mask = !a->mask_bool                   ? array_at(a->dtype, a->mask, m)
               : ((const uint8_t *)a->mask)[m] ? 0
                                               : -INFINITY;
    }
    for (int64_t e = 0; e < a->e; e++)
        sum += (number(a, a->q,
                       n * a->q_stride[0] + h * a->q_stride[1] +
                           i * a->q_stride[2] + e) -
                a->q_zero) *
               number(a, a->k,
                      n * a->k_stride[0] + kh * a->k_stride[1] +
                          j * a->k_stride[2] + e);
    return sum * a->scale + mask;
}

/* y and the weights, row-major. */
static void attention_reference(const cfx_attention *a, double *y, double *w)
{
    for (int64_t r = 0; r < a->batch * a->heads * a->l; r++, w += a->s) {
        int64_t n = r / a->l / a->heads, h = r / a->l % a->heads;
        int64_t kh = h / (a->kv_group ? a->kv_group : 1);
        double most = -INFINITY, sum = 0;

        for (int64_t j = 0; j < a->s; j++) {
            w[j] = score(a, n, h, r % a->l, j);
            most = w[j] > most ? w[j] : most;
        }
        for (int64_t j = 0; j < a->s; j++)
            sum += w[j] = isinf(most) ? 0 : exp(w[j] - most);
        for (int64_t j = 0; j < a->s; j++)
            w[j] /= sum > 0 ? sum : 1;
        for (int64_t e = 0; e < a->ev; e++, y++) {
            *y = 0;
            for (int64_t j = 0; j < a->s; j++)
                *y += w[j] * (number(a, a->v,
                                     n * a->v_stride[0] + kh * a->v_stride[1] +
                                         j * a->v_stride[2] + e) -
                              a->v_zero);
            *y *= a->bytes ? (double)a->v_scale : 1;
        }
    }
}

static void strides(int64_t *s, int64_t heads, int64_t rows, int64_t cols,
                    bool heads_inside)
{
    s[0] = heads * rows * cols;
    s[1] = heads_inside ? cols : rows * cols;
    s[2] = heads_inside ? heads * cols : cols;
}

static void run_attention(cfx_attention *a, const char *what)
{
    cfx_dtype t = a->dtype;
    int64_t rows = a->batch * a->heads * a->l;
    void *y = array_new(t, rows * a->ev), *w = array_new(t, rows * a->s);
    void *last = array_new(t, rows * a->ev);
    size_t size = (size_t)(rows * a->ev) * cfx_dtype_size(t);
    double *want = array_new(CFX_F64, rows * a->ev);
    double *weights = array_new(CFX_F64, rows * a->s);

    attention_reference(a, want, weights);
    a->y = y;
    strides(a->y_stride, a->heads, a->l, a->ev, false);
    for (int k = 0; k < 2 * all.count; k++) {
        int i = k % all.count;
        a->weights = k < all.count ? w : NULL;
        void *work = array_scratch(cfx_attention_workspace(all.ctx[i], a));

        memset(y, 0xff, size);
        cfx_attention_run(all.ctx[i], a, work);
        assert_array(t, y, want, rows * a->ev, tolerance(t), what);
        if (a->weights)
            assert_array(t, w, weights, rows * a->s, tolerance(t), what);
        if (i && same_level(&all, i))
            assert_same_bits(y, last, size, what);
        memcpy(last, y, size);
        free(work);
    }
    free(y);
    free(w);
    free(last);
    free(want);
    free(weights);
}

static void set_bytes(dice *d, cfx_attention *a)
{
    a->bytes = true;
    a->e = 4 * dice_throw(d, 0, 8);
    a->scale = 3e-5;
    a->q_zero = (int)dice_throw(d, 0, 255);
    a->v_zero = (int)dice_throw(d, 0, 255);
    a->v_scale = 0x1p-6F;
}

/* in: the type of q, k and v. */
static void check_attention(cfx_dtype t, cfx_dtype in, int count, int64_t most)
{
    for (int i = 0; i < count; i++) {
        dice d = {.key = 40 + (uint64_t)i * 16 + t};
        cfx_attention a = {.dtype = t, .scale = 0.5};
        int kind = (int)dice_throw(&d, 0, 4);
        int64_t kv, masks;
        void *q, *k, *v, *mask;
        char what[120];

        a.kv_group = dice_throw(&d, 0, 2);
        kv = dice_throw(&d, 1, 3);
        a.heads = kv * (a.kv_group ? a.kv_group : 1);
        a.batch = dice_throw(&d, 0, 9) ? dice_throw(&d, 1, 2) : 0;
        a.l = dice_throw(&d, 1, most);
        a.s = dice_throw(&d, 1, most);
        a.e = dice_throw(&d, 1, 20);
        a.ev = dice_throw(&d, 1, 20);
        if (in == CFX_U8)
            set_bytes(&d, &a);
        strides(a.q_stride, a.heads, a.l, a.e, dice_throw(&d, 0, 1));
        strides(a.k_stride, kv, a.s, a.e, dice_throw(&d, 0, 1));
        strides(a.v_stride, kv, a.s, a.ev, dice_throw(&d, 0, 1));
        q = array_random(&d, in, a.batch * a.heads * a.l * a.e);
        k = array_random(&d, in, a.batch * kv * a.s * a.e);
        v = array_random(&d, in, a.batch * kv * a.s * a.ev);
        masks = a.batch * a.heads * a.l * a.s;
        mask = array_random(&d, kind == 2 ? CFX_U8 : t, masks);
        a.q = q;
        a.k = k;
        a.v = v;
        a.causal = kind == 1;
        a.mask = kind >= 2 ? mask : NULL;
        a.has_mask = a.mask != NULL;
        a.mask_bool = kind == 2;
        int64_t hides = dice_throw(&d, 0, 3); /* nothing, the last, or any */
        for (int64_t j = 0; j < masks && kind == 2; j++)
            ((uint8_t *)mask)[j] = hides == 0   ? 1
                                   : hides == 1 ? j + 1 < masks
                                                : dice_throw(&d, 0, 2) > 0;
        if (kind == 4) { /* one row for all */
            a.mask_stride[3] = 1;
        } else if (kind >= 2) {
            a.mask_stride[0] = a.heads * a.l * a.s;
            a.mask_stride[1] = a.l * a.s;
            a.mask_stride[2] = a.s;
            a.mask_stride[3] = 1;
        }
        snprintf(what, sizeof(what),
                 "%s case %d, kind %d, %lldx%lldx%lldx"
                 "%lld",
                 cfx_dtypes[t].name, i, kind, (long long)a.l, (long long)a.s,
                 (long long)a.e, (long long)a.ev);
        run_attention(&a, what);
        free(q);
        free(k);
        free(v);
        free(mask);
    }
}

TEST_CASE(attention_agrees_with_its_formula)
{
    check_attention(CFX_F32, CFX_F32, 60, 40);
    check_attention(CFX_F64, CFX_F64, 30, 40);
    check_attention(CFX_F16, CFX_F16, 20, 20);
    check_attention(CFX_BF16, CFX_BF16, 20, 20);
}

TEST_CASE(attention_of_many_blocks_agrees_with_its_formula)
{
    check_attention(CFX_F32, CFX_F32, 8, 400);
}

TEST_CASE(attention_of_bytes_agrees_with_its_formula)
{
    check_attention(CFX_F32, CFX_U8, 60, 40);
    check_attention(CFX_F32, CFX_U8, 8, 400);
}

/* ---- Recurrent layers ---- */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Row `row` of w(., n) times x, plus the bias. */
static double affine(const cfx_rnn *r, const void *w, const void *bias,
                     int64_t row, const double *x, int64_t n)
{
    double s = bias ? array_at(r->dtype, bias, row) : 0;

    for (int64_t i = 0; i < n; i++)
        s += array_at(r->dtype, w, row * n + i) * x[i];
    return s;
}

/* Compute one time step of one element of the batch. */
static void rnn_step(const cfx_rnn *r, const double *x, double *h, double *c)
{
    int64_t n = r->hidden, out = r->proj ? r->proj : n;
    double *next = array_new(CFX_F64, n);

    for (int64_t i = 0; i < n; i++) {
        double u[4], v[4];

        for (int64_t g = 0; g < (r->mode == CFX_RNN_LSTM  ? 4
                                 : r->mode == CFX_RNN_GRU ? 3
                                                          : 1);
             g++) {
            u[g] = affine(r, r->w_ih, r->b_ih, g * n + i, x, r->input);
            v[g] = affine(r, r->w_hh, r->b_hh, g * n + i, h, out);
        }
        if (r->mode == CFX_RNN_LSTM) {
            c[i] = sigmoid(u[1] + v[1]) * c[i] +
                   sigmoid(u[0] + v[0]) * tanh(u[2] + v[2]);
            next[i] = sigmoid(u[3] + v[3]) * tanh(c[i]);
        } else if (r->mode == CFX_RNN_GRU) {
            double z = sigmoid(u[1] + v[1]);
            next[i] = (1 - z) * tanh(u[2] + sigmoid(u[0] + v[0]) * v[2]) +
                      z * h[i];
        } else if (r->mode == CFX_RNN_TANH) {
            next[i] = tanh(u[0] + v[0]);
        } else {
            next[i] = fmax(u[0] + v[0], 0);
        }
    }
    for (int64_t i = 0; i < out; i++)
        h[i] = r->proj ? affine(r, r->w_hr, NULL, i, next, n) : next[i];
    free(next);
}

static void rnn_reference(const cfx_rnn *r, double *y, double *h, double *c)
{
    int64_t out = r->proj ? r->proj : r->hidden;
    double *x = array_new(CFX_F64, r->input);

    for (int64_t b = 0; b < r->batch; b++) {
        double *hb = h + b * out, *cb = c + b * r->hidden;

        for (int64_t i = 0; i < out; i++)
            hb[i] = r->h0 ? array_at(r->dtype, r->h0, b * out + i) : 0;
        for (int64_t i = 0; i < r->hidden; i++)
            cb[i] = r->c0 ? array_at(r->dtype, r->c0, b * r->hidden + i) : 0;
        for (int64_t k = 0; k < r->time; k++) {
            int64_t t = r->reverse ? r->time - 1 - k : k;

            for (int64_t i = 0; i < r->input; i++)
                x[i] = array_at(r->dtype, r->x,
                                t * r->x_stride[0] + b * r->x_stride[1] + i);
            rnn_step(r, x, hb, cb);
            for (int64_t i = 0; i < out; i++)
                y[t * r->y_stride[0] + b * r->y_stride[1] + i] = hb[i];
        }
    }
    free(x);
}

static void run_rnn(cfx_rnn *r, const char *what)
{
    cfx_dtype t = r->dtype;
    int64_t out = r->proj ? r->proj : r->hidden;
    int64_t len = r->time * r->batch * out;
    void *y = array_new(t, len), *last = array_new(t, len);
    void *h = array_new(t, r->batch * out);
    void *c = array_new(t, r->batch * r->hidden);
    double *yw = array_new(CFX_F64, len);
    double *hw = array_new(CFX_F64, r->batch * out);
    double *cw = array_new(CFX_F64, r->batch * r->hidden);

    rnn_reference(r, yw, hw, cw);
    r->y = y;
    r->h = h;
    r->c = r->mode == CFX_RNN_LSTM ? c : NULL;
    for (int i = 0; i < all.count; i++) {
        void *work = array_scratch(cfx_rnn_workspace(all.ctx[i], r));

        cfx_rnn_run(all.ctx[i], r, work);
        assert_array(t, y, yw, len, tolerance(t), what);
        assert_array(t, h, hw, r->batch * out, tolerance(t), what);
        if (r->c)
            assert_array(t, c, cw, r->batch * r->hidden, tolerance(t), what);
        if (same_level(&all, i))
            assert_same_bits(y, last, (size_t)len * cfx_dtype_size(t), what);
        memcpy(last, y, (size_t)len * cfx_dtype_size(t));
        free(work);
    }
    free(y);
    free(last);
    free(h);
    free(c);
    free(yw);
    free(hw);
    free(cw);
}

/* Random numbers small enough that the gates do not saturate. */
static void *weights(dice *d, cfx_dtype t, int64_t n)
{
    char *p = array_random(d, t, n);

    for (int64_t i = 0; i < n; i++)
        cfx_element_set_double(t, p + (size_t)i * cfx_dtype_size(t),
                               array_at(t, p, i) / 4);
    return p;
}

TEST_CASE(recurrent_layers_agree_with_their_formulas)
{
    for (int i = 0; i < 80; i++) {
        dice d = {.key = 700 + (uint64_t)i};
        cfx_dtype t = i % 3 ? CFX_F32 : CFX_F64;
        cfx_rnn r = {.dtype = t,
                     .mode = (cfx_rnn_mode)(i % 4),
                     .reverse = dice_throw(&d, 0, 1)};
        int64_t gates = i % 4 == 2 ? 4 : i % 4 == 3 ? 3 : 1, out, o;
        void *p[8];
        char what[80];

        r.time = dice_throw(&d, 0, 7);
        r.batch = dice_throw(&d, 1, 6);
        r.input = dice_throw(&d, 1, 20);
        r.hidden = dice_throw(&d, 1, 30);
        r.proj = r.mode == CFX_RNN_LSTM ? dice_throw(&d, 0, 1) * 3 : 0;
        out = r.proj ? r.proj : r.hidden;
        o = dice_throw(&d, 0, 1); /* batch first */
        r.x_stride[0] = o ? r.input : r.batch * r.input;
        r.x_stride[1] = o ? r.time * r.input : r.input;
        r.y_stride[0] = o ? out : r.batch * out;
        r.y_stride[1] = o ? r.time * out : out;
        r.x = p[0] = weights(&d, t, r.time * r.batch * r.input);
        r.w_ih = p[1] = weights(&d, t, gates * r.hidden * r.input);
        r.w_hh = p[2] = weights(&d, t, gates * r.hidden * out);
        r.w_hr = p[3] = weights(&d, t, out * r.hidden);
        p[4] = weights(&d, t, gates * r.hidden);
        p[5] = weights(&d, t, gates * r.hidden);
        p[6] = weights(&d, t, r.batch * out);
        p[7] = weights(&d, t, r.batch * r.hidden);
        r.b_ih = dice_throw(&d, 0, 2) ? p[4] : NULL;
        r.b_hh = r.b_ih ? p[5] : NULL;
        r.h0 = dice_throw(&d, 0, 2) ? p[6] : NULL;
        r.c0 = r.h0 ? p[7] : NULL;
        snprintf(what, sizeof(what), "case %d, mode %d", i, i % 4);
        run_rnn(&r, what);
        for (int j = 0; j < 8; j++)
            free(p[j]);
    }
}

static void setup(void)
{
    contexts_init(&all);
}
static void teardown(void)
{
    contexts_release(&all);
}

TEST_SUITE(kernel_attention, .setup = setup, .teardown = teardown,
           .timeout = 300)
