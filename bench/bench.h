/*
 * bench.h -- what the parts of bench-speed share.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdio.h>

#include <cfx/interp.h>

enum { BENCH_INPUTS = 4, BENCH_NAME = 64, BENCH_TEXT = 1024, BENCH_RUNS = 512 };

double bench_now(bool processor);
int bench_by_value(const void *a, const void *b);
/* The middle one; sorts them. */
double bench_median(double *x, int n);

/* How long to run, and what stands for all runs: the one that is slower than
 * this part of them, 0.5 for the median; and whether the time is that of the
 * process on its processors rather than the wall's. */
typedef struct bench_time {
    double seconds, part;
    bool processor;
} bench_time;

/* Run for about so long, at least a few times; seconds, or negative. */
double bench_measure(bool (*once)(void *arg), void *arg, bench_time time);

/* ---- What is measured ---- */

typedef struct bench_row {
    char name[BENCH_NAME];
    char zoo[BENCH_NAME];       /* a file of the zoo; or empty, and then */
    char modules[BENCH_TEXT];   /* lines of a module tree, and */
    char call[BENCH_TEXT];      /* the one call */
    char input[BENCH_INPUTS][BENCH_NAME]; /* "x=f32[2,3]" */
    int ninputs;
    int64_t sgemm[3];           /* m, n, k; or 0 */
    double memory[2];           /* megabytes read and written; or 0 */
} bench_row;

/* The next row; false at the end or, with a text on stderr, for a line that
 * makes no sense. */
bool bench_read_row(bench_row *row, FILE *from, int *line);

/* The text of the row's model, malloc'ed; NULL with a text on stderr. */
char *bench_model_text(const bench_row *row, const char *zoo);

/* ---- A peer in another process ---- */

typedef struct bench_peer {
    FILE *to, *from;
    int pid;
} bench_peer;

bool bench_peer_start(bench_peer *p, const char *command, int threads);
void bench_peer_stop(bench_peer *p);
bool bench_peer_load(bench_peer *p, const bench_row *row, const char *text);
/* Seconds, or a negative number. */
double bench_peer_run(bench_peer *p, bench_time time);
/* A row of bench-graphs, at a size, of graphs_peer.py. */
double bench_peer_graph(bench_peer *p, const char *row, size_t size,
                        bool processor);

/* ---- Limits ---- */

/* OpenBLAS's product by `threads` threads of its own: 0 where there is no
 * OpenBLAS. */
double bench_sgemm(const int64_t mnk[3], int threads, bench_time time);

/* Bytes a second of reading one or two arrays larger than the caches and
 * writing a third; the better of stores through and past the caches. */
double bench_bandwidth(cfx_context *ctx, int reads, bench_time time);

#endif
