/*
 * walk_run.h -- run an operator case, and compare two runs: shared by walk.c,
 * walk_run.c and walk_compare.c.
 */
#ifndef CFX_TEST_WALK_RUN_H
#define CFX_TEST_WALK_RUN_H

#include "tests/cases/walk.h"

/* ---- A run ---- */

/* Forms of the tensors of a case: as they are, without elements, with symbols
 * as extents, with extents that no memory holds. */
enum { REAL, META, SYMBOLS, WILD };

/* Numbers beyond stay what they are. */
enum { SYMBOL_MAX = 1 << 20 };

typedef struct walk_run {
    walk_case *w;
    const op_case *c;
    int how;
    cfx_scope s;
    cfx_shape_env *env;
    uint64_t chance;
    /* Symbols stand for extents of 1 too, differ by place, stand for sizes. */
    bool ones, apart, numbers;
    int count;
    bool has_one; /* a symbol stands for 1 */
    cfx_value out;
    cfx_status status;
    char error[CFX_ERROR_TEXT];
} walk_run;

void walk_run_begin(walk_run *r, walk_case *w, const op_case *c, int how,
                    const cfx_scope_class *cls, cfx_context *ctx);

/* Call what the case says: with `b`, where r->numbers, by its descriptor, since
 * that tells which numbers are sizes. */
void walk_run_go(walk_run *r, const cfx_bound *b);

void walk_run_end(walk_run *r);

/* The value of a symbol by its name. */
bool walk_value_of(void *user, const char *name, int64_t *v);

/* Also on axes of extent 1, and where it is empty. */
bool walk_is_row_major(const cfx_tensor *t);

/* Run the call as a graph, with its arguments in the graph and then as inputs:
 * every failure has one sentence. Count it only, unless it is small. */
void walk_graph(walk_case *w, cfx_context *ctx, const op_case *c, bool small);

/* ---- Comparing ---- */

/* The case fails, with that text unless it has one already. */
CFX_PRINTF(2, 3)
void walk_disagree(walk_case *w, const char *fmt, ...);

/* Unbacked symbols take the value of the extent that they first stand for. */
enum { WALK_UNBACKED = 1024 };
typedef struct walk_unbacked {
    int64_t v[WALK_UNBACKED];
    bool set[WALK_UNBACKED];
} walk_unbacked;

/* Is the dim that number? */
bool walk_stands_for(walk_unbacked *u, cfx_dim d, int64_t v);

/* The results have the same types, shapes and strides. */
void walk_compare(walk_case *w, const walk_run *have, const walk_run *want,
                  const char *what);

/* Check that results that are views of arguments without elements are views of
 * them with elements. */
void walk_compare_places(walk_case *w, const op_case *c, cfx_value promised,
                         cfx_value got);

/* Views begin at the same element. */
void walk_compare_offsets(walk_case *w, const op_case *c, cfx_value have,
                          cfx_value got);

void walk_show(cfx_value v, char *buf, size_t size);

/* Add the types of the tensors to w->got, as in a golden, without elements. */
void walk_add_got(walk_case *w, cfx_value v);

#endif
