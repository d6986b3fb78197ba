/*
 * program.h -- several pointwise operations in one pass over memory.
 *
 * A program is a list of steps. Each computes an operation of pointwise.h from
 * inputs, results of earlier steps and numbers; the last gives the output. All
 * results have the extents of the output, to which inputs are broadcast. The
 * walk goes tile by tile: between steps, a tile stays in the cache, in a buffer
 * of the caller's scratch memory. Each step rounds to the type of its result, so
 * that the program computes what its steps compute one after the other.
 */
#ifndef CFX_PROGRAM_H
#define CFX_PROGRAM_H

#include "kernel/pointwise/pointwise_kernel.h"

enum {
    CFX_PROGRAM_STEPS = 16,
    CFX_PROGRAM_INPUTS = CFX_ITER_OPERANDS - 1,
    CFX_PROGRAM_BUFFERS = 8,
    CFX_PROGRAM_COPY = CFX_PW_COUNT /* a conversion of one operand */
};

typedef struct cfx_program_operand {
    enum { CFX_FROM_INPUT, CFX_FROM_STEP, CFX_FROM_NUMBER } from;
    int at;      /* the index of the input or step */
    bool single; /* as of cfx_operand */
    /* A number; its type is f64 or i64. */
    cfx_dtype dtype;
    union {
        double d;
        int64_t i;
    } number;
} cfx_program_operand;

typedef struct cfx_program_step {
    int code;       /* cfx_pw, or CFX_PROGRAM_COPY */
    cfx_dtype type; /* that it computes in */
    cfx_dtype out;  /* of its result */
    int n;
    cfx_program_operand in[CFX_ITER_OPERANDS - 1];
    double params[3];
    int buffer; /* of the result; set by cfx_program_plan */
} cfx_program_step;

typedef struct cfx_program {
    int nsteps, nbuffers;
    cfx_program_step step[CFX_PROGRAM_STEPS];
} cfx_program;

/* Give each result but the last a buffer, which others use when it is no longer
 * read. False if CFX_PROGRAM_BUFFERS do not suffice. */
bool cfx_program_plan(cfx_program *p);

/* The size of the scratch memory. */
size_t cfx_program_work(const cfx_context *ctx, const cfx_program *p);

/* Run over an iterator with the output and the inputs, in order. Returns false
 * if an integer was divided by 0. */
bool cfx_program_run(cfx_context *ctx, const cfx_program *p, cfx_iter *it,
                     void *work);

#endif
