/*
 * time -- clocks and medians.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <time.h>

#include "bench.h"

double bench_now(bool processor)
{
    struct timespec t;

    clock_gettime(processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int bench_by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

double bench_median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof(*x), bench_by_value);
    return x[n / 2];
}
