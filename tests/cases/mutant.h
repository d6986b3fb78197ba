/*
 * mutant.h -- operator cases made of other cases, by chance.
 *
 * A case is read into a tree of what stands in it, the tree is changed, and
 * printed again in the grammar of tests/oracle/README.md: what fails can be
 * run again from its text, here and in PyTorch.
 */
#ifndef CFX_TEST_MUTANT_H
#define CFX_TEST_MUTANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MUTANT_NODES = 96, MUTANT_RANK = 8, MUTANT_TEXT = 2048 };

typedef enum mutant_kind {
    MUTANT_TENSOR,
    MUTANT_INT,
    MUTANT_FLOAT,
    MUTANT_BOOL,
    MUTANT_WORD,  /* None, a string, a type, ... as it is written */
    MUTANT_ITEMS, /* in brackets, after a word perhaps: (1, 2), slice(3) */
} mutant_kind;

typedef struct mutant_node {
    uint8_t kind;
    bool dead;     /* left out when printed */
    char key[32];  /* of keyword arguments and dicts, with its sign */
    char text[64]; /* a word, a tensor's fill, what is before '(' */
    int64_t i;
    double f;
    int first, next; /* items; 0: none */
    char open;       /* of items: ( [ { */
    /* A tensor. From the innermost axis of memory outwards: order; gap is how
     * many places an axis has for one element, 0 for an axis of stride 0. */
    char dtype[8];
    int rank;
    int64_t shape[MUTANT_RANK];
    int order[MUTANT_RANK], gap[MUTANT_RANK];
    bool strided;
} mutant_node;

typedef struct mutant {
    char target[128];
    bool train;
    int made, args; /* ITEMS; `made` is 0 unless it is a module's */
    int n;
    mutant_node node[MUTANT_NODES];
} mutant;

/* Numbers by chance, the same everywhere. */
uint64_t mutant_bits(uint64_t *state);
int64_t mutant_below(uint64_t *state, int64_t n);
/* True once in n times. */
bool mutant_chance(uint64_t *state, int n);

/* Read a case; false if it is beyond what a mutant holds. */
bool mutant_read(mutant *m, const char *text, size_t len);
/* Print it; false if it does not fit. */
bool mutant_print(const mutant *m, char *buf, size_t size);

/* Elements of the largest tensor, and how many bytes all their places take. */
int64_t mutant_places(const mutant *m);

/* Change something: extents (the same one everywhere, or one of them), strides,
 * types, numbers, which arguments there are. */
void mutant_change(mutant *m, uint64_t *state);
/* The same, gently: mostly what keeps a call valid. */
void mutant_change_shapes(mutant *m, uint64_t *state);
/* Put something degenerate into one of its integers. */
void mutant_spoil(mutant *m, uint64_t *state);

/* Add an argument None with a keyword; false if there is no room. */
bool mutant_add_keyword(mutant *m, const char *name);
/* Put value number `kind` of a list of all kinds into place number `place`: an
 * argument, or an item of one. False if there is no such place or kind. */
bool mutant_replace(mutant *m, int place, int kind);

#endif
