/*
 * resample_rows.h -- the text of resample.c for one type: elements are of type
 * T and computed in C; LOAD and SAVE go from one to the other, unless T is C, which
 * IN_PLACE says; NAME(f) is what is defined here.
 */

/* One row of x, as wide as y. */
static void NAME(widen)(C *y, const T *x, const axis *a)
{
    if (a->taps == 2) {
        for (int64_t i = 0; i < a->out; i++) {
            const T *from = x + a->first[i];
            C u = LOAD(from[0]), v = LOAD(from[a->count[i] - 1]);
            y[i] = (C)a->weight[2 * i] * u + (C)a->weight[2 * i + 1] * v;
        }
        return;
    }
    for (int64_t i = 0; i < a->out; i++) {
        const double *w = a->weight + i * a->taps;
        C sum = 0;
        for (int64_t k = 0; k < a->count[i]; k++)
            sum += (C)w[k] * LOAD(x[a->first[i] + k]);
        y[i] = sum;
    }
}

/* sum = u a + v b, where b is not NULL; with `add`, sum += that. */
static void NAME(mix)(C *sum, const C *a, C u, const C *b, C v, int64_t n,
                      bool add)
{
    if (b) {
        CFX_SIMD
        for (int64_t i = 0; i < n; i++)
            sum[i] = (add ? sum[i] : 0) + u * a[i] + v * b[i];
    } else {
        CFX_SIMD
        for (int64_t i = 0; i < n; i++)
            sum[i] = (add ? sum[i] : 0) + u * a[i];
    }
}

/* A row of x that an output reads, as wide as y, from the slots of rows that are held. */
static const C *NAME(held_row)(const resampling *s, const slots *k, int64_t n,
                               int64_t row)
{
    C *to = (C *)(void *)(k->slot + s->slot * (size_t)n);

    if (k->held[n] != row)
        NAME(widen)(to, (const T *)s->r->x + row * s->a[2].in, &s->a[2]);
    k->held[n] = row;
    return to;
}

/* Row r of y, which is row r % rows of plane r / rows, into sum. */
static void NAME(row)(const resampling *s, const slots *k, int64_t r, C *sum)
{
    const axis *d = &s->a[0], *h = &s->a[1], *w = &s->a[2];
    int64_t od = r / h->out % d->out, oh = r % h->out;
    int64_t plane = r / h->out / d->out, taps = d->count[od] * h->count[oh];
    const C *pair[2];
    C weight[2];

    for (int64_t t = 0; t < taps; t++) {
        int64_t p = t / h->count[oh], q = t % h->count[oh];
        int64_t di = d->first[od] + p, hi = h->first[oh] + q;
        bool last = t + 1 == taps;

        pair[t % 2] = NAME(held_row)(s, k,
                                     di % d->taps * h->taps + hi % h->taps,
                                     (plane * d->in + di) * h->in + hi);
        weight[t % 2] = (C)(d->weight[od * d->taps + p] *
                            h->weight[oh * h->taps + q]);
        if (t % 2 == 0 && last) {
            pair[1] = pair[0];
            weight[1] = 0;
        }
        if (t % 2 || last)
            NAME(mix)
        (sum, pair[0], weight[0], pair[1], weight[1], w->out, t > 1);
    }
}

static void NAME(rows)(void *arg, int64_t begin, int64_t end, int worker)
{
    const resampling *s = arg;
    slots k = slots_of(s, worker);
    int64_t n = s->a[2].out;

    for (int64_t r = begin; r < end; r++) {
        T *y = (T *)s->r->y + r * n;
#if IN_PLACE
        NAME(row)(s, &k, r, y);
#else
        C *sum = (C *)(void *)k.sum;
        NAME(row)(s, &k, r, sum);
        for (int64_t i = 0; i < n; i++)
            y[i] = SAVE(sum[i]);
#endif
    }
}
