/*
 * time -- clocks, medians and measurements.
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

enum { LEAST_RUNS = 3 };

double bench_measure(bool (*once)(void *arg), void *arg, bench_time time)
{
    double took[BENCH_RUNS], begin;
    int n = 0;

    if (!once(arg))
        return -1;
    begin = bench_now(time.processor);
    while (
        n < LEAST_RUNS ||
        (n < BENCH_RUNS && bench_now(time.processor) - begin < time.seconds)) {
        double start = bench_now(time.processor);
        if (!once(arg))
            return -1;
        took[n++] = bench_now(time.processor) - start;
    }
    qsort(took, (size_t)n, sizeof(*took), bench_by_value);
    return took[(int)(time.part * n)];
}
