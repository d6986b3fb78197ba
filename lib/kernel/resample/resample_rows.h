/*
 * resample_rows.h -- the text of resample.c for one type: elements are of type
 * T and computed in C; LOAD and SAVE go from one to the other; NAME(f) is what
 * is defined here.
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

/* Rows begin..end of y: row r is row r % rows of plane r / rows. */
static void NAME(rows)(void *arg, int64_t begin, int64_t end, int worker)
{
    const resampling *s = arg;
    const axis *d = &s->a[0], *h = &s->a[1], *w = &s->a[2];
    int64_t slots = d->taps * h->taps;
    char *work = s->work + s->priv * (size_t)worker;
    int64_t *held = (int64_t *)(void *)work; /* which row of x each slot has */
    char *slot = work + align((size_t)slots * sizeof(*held));
    C *sum = (C *)(void *)(slot + s->slot * (size_t)slots);

    for (int64_t i = 0; i < slots; i++)
        held[i] = -1;
    for (int64_t r = begin; r < end; r++) {
        int64_t od = r / h->out % d->out, oh = r % h->out;
        int64_t plane = r / h->out / d->out;
        T *y = (T *)s->r->y + r * w->out;

        for (int64_t i = 0; i < w->out; i++)
            sum[i] = 0;
        for (int64_t p = 0; p < d->count[od]; p++)
            for (int64_t q = 0; q < h->count[oh]; q++) {
                int64_t di = d->first[od] + p, hi = h->first[oh] + q;
                int64_t row = (plane * d->in + di) * h->in + hi;
                int64_t n = di % d->taps * h->taps + hi % h->taps;
                C *from = (C *)(void *)(slot + s->slot * (size_t)n);
                C weight = (C)(d->weight[od * d->taps + p] *
                               h->weight[oh * h->taps + q]);

                if (held[n] != row)
                    NAME(widen)(from, (const T *)s->r->x + row * w->in, w);
                held[n] = row;
                for (int64_t i = 0; i < w->out; i++)
                    sum[i] += weight * from[i];
            }
        for (int64_t i = 0; i < w->out; i++)
            y[i] = SAVE(sum[i]);
    }
}
