/*
 * bench.h -- declarations shared by the parts of bench-speed.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdio.h>

#include <cfx/interp.h>

enum {
    BENCH_INPUTS = 4,
    BENCH_NAME = 64,
    BENCH_TEXT = 1024,
    BENCH_RUNS = 512
};

double bench_now(bool processor);
int bench_by_value(const void *a, const void *b);
/* Return the median; sorts the array. */
double bench_median(double *x, int n);

/* The duration of a measurement; the statistic of its runs, a quantile (0.5 is
 * the median); and whether to count processor time instead of wall time. */
typedef struct bench_time {
    double seconds, part;
    bool processor;
} bench_time;

/* Run for about this time, a few times at least. Seconds; negative on
 * failure. */
double bench_measure(bool (*once)(void *arg), void *arg, bench_time time);

/* ---- Rows ---- */

typedef struct bench_row {
    char name[BENCH_NAME];
    char zoo[BENCH_NAME];     /* a file of the zoo; or empty, and then */
    char modules[BENCH_TEXT]; /* lines of a module tree, and */
    char call[BENCH_TEXT];    /* the one call */
    char input[BENCH_INPUTS][BENCH_NAME]; /* "x=f32[2,3]" */
    int ninputs;
    int64_t sgemm[3]; /* m, n, k; or 0 */
    double memory[2]; /* megabytes read and written, or 0 */
} bench_row;

/* Read the next row; false at the end or, with a message on stderr, for a
 * malformed line. */
bool bench_read_row(bench_row *row, FILE *from, int *line);

/* Return the malloc'ed text of the row's model; NULL with a message on
 * stderr. */
char *bench_model_text(const bench_row *row, const char *zoo);

/* ---- The peer process ---- */

typedef struct bench_peer {
    FILE *to, *from;
    int pid;
} bench_peer;

bool bench_peer_start(bench_peer *p, const char *command, int threads);
void bench_peer_stop(bench_peer *p);
bool bench_peer_load(bench_peer *p, const bench_row *row, const char *text);
/* Return seconds, or a negative number on failure. */
double bench_peer_run(bench_peer *p, bench_time time);
/* Run a row of bench-graphs at a size in graphs_peer.py. */
double bench_peer_graph(bench_peer *p, const char *row, size_t size,
                        bool processor);

/* ---- Limits ---- */

/* Return the rate of OpenBLAS's product with `threads` threads; 0 without
 * OpenBLAS. */
double bench_sgemm(const int64_t mnk[3], int threads, bench_time time);

/* Bytes per second of reading one or two arrays larger than the caches and
 * writing a third, with ordinary or non-temporal stores, the faster ones. */
double bench_bandwidth(cfx_context *ctx, int reads, bench_time time);

#endif
