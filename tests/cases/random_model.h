/*
 * random_model.h -- models by chance, as text: convolutional networks,
 * transformers, and chains of any operators.
 *
 * A model is a pure function of its seed. Its text is cfx's own form, so that what
 * fails can be saved and run again by the program.
 */
#ifndef CFX_TEST_RANDOM_MODEL_H
#define CFX_TEST_RANDOM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MODEL_VALUES = 160,
    MODEL_RANK = 5,
    MODEL_INPUTS = 3,
    MODEL_NAME = 16,
    MODEL_TEXT = 1 << 16
};

/* A tensor of the graph. Those of integers are indices below `below`. */
typedef struct model_value {
    char name[MODEL_NAME];
    int rank;
    int64_t shape[MODEL_RANK];
    int64_t below; /* 0: a tensor of floats */
} model_value;

typedef struct model_text {
    size_t len;
    bool full;
    char at[MODEL_TEXT];
} model_text;

typedef struct random_model {
    uint64_t state; /* of the random numbers */
    const char *kind;
    model_text modules, tensors, graph;
    int nmodules, ntensors, nnodes;
    model_value value[MODEL_VALUES]; /* those that later nodes may read */
    int nvalues;
    model_value input[MODEL_INPUTS];
    int ninputs;
    char text[3 * MODEL_TEXT]; /* the whole model */
} random_model;

/* Make the model of a seed; false if it does not fit. */
bool random_model_make(random_model *m, uint64_t seed);

/* ---- For the files that make parts ---- */

void random_model_cnn(random_model *m);
void random_model_transformer(random_model *m);
void random_model_chain(random_model *m);

int64_t random_below(random_model *m, int64_t n);
bool random_chance(random_model *m, int n); /* true once in n times */
const char *random_word(random_model *m, const char *const *words, int n);
#define RANDOM_WORD(m, ...)                                                   \
    random_word(m, (const char *const[]){__VA_ARGS__},                        \
                (int)(sizeof((const char *const[]){__VA_ARGS__}) /            \
                      sizeof(const char *)))

/* Printf into a part of the text. */
void model_put(model_text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Add an input, or a value like another one that the next node computes. */
model_value model_input(random_model *m, int rank, const int64_t *shape,
                        int64_t below);

/* A tensor of the state, read by a get_attr node. */
model_value model_tensor(random_model *m, int rank, const int64_t *shape);

/* Add a node; the formats are its target and its arguments, "%" for a node is
 * written "%%". The result has the shape of `like`. */
model_value model_call(random_model *m, const model_value *like,
                       const char *target, const char *args, ...)
    __attribute__((format(printf, 4, 5)));
model_value model_method(random_model *m, const model_value *like,
                         const char *name, const char *args, ...)
    __attribute__((format(printf, 4, 5)));
/* Add a module, and call it with x alone. */
model_value model_module(random_model *m, const model_value *x,
                         const char *module, ...)
    __attribute__((format(printf, 3, 4)));

/* One of the values that are kept, or NULL: of this shape, or any. */
const model_value *model_like(random_model *m, const model_value *x);
const model_value *model_any(random_model *m);
/* Let later nodes read v. */
void model_keep(random_model *m, const model_value *v);

/* Parts that all kinds use. */
model_value model_activation(random_model *m, model_value x);
model_value model_pointwise(random_model *m, model_value x);
model_value model_linear(random_model *m, model_value x, int64_t features);
model_value model_norm(random_model *m, model_value x);
model_value model_view(random_model *m, model_value x);

#endif
